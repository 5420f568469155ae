#include "data/hold_out.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

// Where to cut a document of which about `wanted` bytes come before the cut: behind a line end, the
// nearest after it else before it; without one, at a character. 0 or text.size() when it is a
// single line end or character.
std::size_t line_cut(std::string_view text, std::size_t wanted) {
  const std::size_t after = text.find('\n', wanted == 0 ? 0 : wanted - 1);
  if (after != std::string_view::npos && after + 1 < text.size()) return after + 1;
  const std::size_t before = wanted < 2 ? std::string_view::npos : text.rfind('\n', wanted - 2);
  if (before != std::string_view::npos) return before + 1;
  while (wanted > 0 && wanted < text.size() && inside_character(text[wanted])) --wanted;
  return wanted;
}

void plan_tail(CorpusPlan& plan) {
  const std::int64_t total = plan.train_bytes + plan.valid_bytes;
  const double tail = std::ceil(static_cast<double>(total) * plan.valid_fraction);
  const std::int64_t wanted =
      std::max<std::int64_t>(1, std::min(total - static_cast<std::int64_t>(tail), total - 1));
  std::int64_t start = 0;
  for_each_document(plan.train_files, [&](const DocumentView& document) {
    const auto size = static_cast<std::int64_t>(document.text.size());
    if (wanted >= start + size) {
      start += size;
      return true;
    }
    const auto cut = line_cut(document.text, static_cast<std::size_t>(wanted - start));
    plan.cut_byte = start + static_cast<std::int64_t>(cut);
    return false;
  });
  if (total < 2 || plan.cut_byte <= 0 || plan.cut_byte >= total) {
    throw Error("data.train", cat("holds ", total, " bytes of text: too little to hold a part out"),
                "add text, or name other text in data.valid");
  }
  plan.rule = HoldOutRule::kTail;
  plan.train_bytes = plan.cut_byte;
  plan.valid_bytes = total - plan.cut_byte;
}

void count(const DocumentView& document, CorpusPlan& plan, std::int64_t& bytes_of_side) {
  bytes_of_side += static_cast<std::int64_t>(document.text.size());
  plan.prompts = plan.prompts || document.prompt > 0;
}

void plan_given(CorpusPlan& plan) {
  plan.rule = HoldOutRule::kGiven;
  plan.empty_documents += for_each_document(plan.valid_files, [&](const DocumentView& document) {
    count(document, plan, plan.valid_bytes);
    return true;
  });
  if (plan.valid_bytes == 0) throw Error("data.valid", "holds no text: every document is empty");
}

}  // namespace

bool held_out(const std::string& sha256, double valid_fraction) {
  const auto top = std::stoull(sha256.substr(0, 13), nullptr, 16);  // 52 bits: exact as a double
  return std::ldexp(static_cast<double>(top), -52) < valid_fraction;
}

std::string rule_text(HoldOutRule rule, double valid_fraction, const std::string& unit) {
  const std::string percent = significant(100 * valid_fraction, 4) + " %";
  switch (rule) {
    case HoldOutRule::kGiven:
      return "data.valid";
    case HoldOutRule::kHash:
      return percent + " of the documents, by hash of their text";
    case HoldOutRule::kTail:
      return cat("the last ", percent, " of the text, cut at ", unit);
    case HoldOutRule::kNone:
      return "nothing (data.valid_fraction is 0)";
  }
  return "";
}

CorpusPlan plan_corpus(std::vector<fs::path> train_files, std::vector<fs::path> valid_files,
                       double valid_fraction) {
  CorpusPlan plan;
  plan.train_files = std::move(train_files);
  plan.valid_files = std::move(valid_files);
  plan.valid_fraction = valid_fraction;
  const bool by_hash = plan.valid_files.empty() && valid_fraction > 0;
  if (by_hash) plan.rule = HoldOutRule::kHash;
  plan.empty_documents = for_each_document(plan.train_files, [&](const DocumentView& document) {
    const bool valid = by_hash && held_out(sha256_hex(document.text), valid_fraction);
    count(document, plan, valid ? plan.valid_bytes : plan.train_bytes);
    return true;
  });
  if (plan.train_bytes + plan.valid_bytes == 0) {
    throw Error("data.train", "holds no text: every document is empty");
  }
  if (by_hash && (plan.valid_bytes == 0 || plan.train_bytes == 0)) plan_tail(plan);
  if (!plan.valid_files.empty()) plan_given(plan);
  return plan;
}

void for_each_part(const CorpusPlan& plan, bool train_only, const PartCall& call) {
  std::int64_t start = 0;
  bool more = true;
  const auto hand = [&](const DocumentView& part, Split split) {
    if (more && !part.text.empty() && !(train_only && split == kValid)) more = call(part, split);
    return more;
  };
  for_each_document(plan.train_files, [&](const DocumentView& document) {
    const std::string_view text = document.text;
    if (plan.rule == HoldOutRule::kHash) {
      return hand(document, held_out(sha256_hex(text), plan.valid_fraction) ? kValid : kTrain);
    }
    if (plan.rule != HoldOutRule::kTail) return hand(document, kTrain);
    const auto size = static_cast<std::int64_t>(text.size());
    const auto before =
        static_cast<std::size_t>(std::clamp<std::int64_t>(plan.cut_byte - start, 0, size));
    start += size;
    const std::size_t prompt = std::min(document.prompt, before);
    return hand({document.id, text.substr(0, before), prompt}, kTrain) &&
           hand({document.id, text.substr(before), document.prompt - prompt}, kValid);
  });
  if (!more || train_only || plan.rule != HoldOutRule::kGiven) return;
  for_each_document(plan.valid_files,
                    [&](const DocumentView& document) { return hand(document, kValid); });
}

}  // namespace alibi
