#include "data/corpus.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

bool validates(const DocumentView& document, const Division& division) {
  return division.rule == HoldOutRule::kHash &&
         held_out(sha256_hex(document.text), division.valid_fraction);
}

constexpr std::size_t kShortLine = 100;  // bytes

// Where to cut a document of which about `wanted` bytes come before the cut and, with the documents
// after it, `tail` bytes behind: behind the next line end, else the one before, where they move the
// cut by half of the tail at most (or back by a short line, of a small text); else at a character.
// 0 or text.size() when it is a single line end or character.
std::size_t line_cut(std::string_view text, std::size_t wanted, std::size_t tail) {
  const std::size_t after = text.find('\n', wanted == 0 ? 0 : wanted - 1);
  if (after != std::string_view::npos && after + 1 < text.size() && after + 1 <= wanted + tail / 2)
    return after + 1;
  const std::size_t before = wanted < 2 ? std::string_view::npos : text.rfind('\n', wanted - 2);
  if (before != std::string_view::npos && before + 1 + std::max(tail / 2, kShortLine) >= wanted)
    return before + 1;
  while (wanted > 0 && wanted < text.size() && inside_character(text[wanted])) --wanted;
  return wanted;
}

// Moves the cut to the last valid_fraction of the bytes.
void cut_tail(TextCorpus& corpus) {
  const std::int64_t total = corpus.division.bytes;
  const double tail = std::ceil(static_cast<double>(total) * corpus.division.valid_fraction);
  const std::int64_t wanted =
      std::max<std::int64_t>(1, std::min(total - static_cast<std::int64_t>(tail), total - 1));
  std::int64_t start = 0;
  for_each_document(corpus.train_files, [&](const DocumentView& document) {
    leave_if_stopped("prepare");
    const auto size = static_cast<std::int64_t>(document.text.size());
    if (wanted >= start + size) {
      start += size;
      return true;
    }
    const auto cut = line_cut(document.text, static_cast<std::size_t>(wanted - start),
                              static_cast<std::size_t>(total - wanted));
    corpus.cut_byte = start + static_cast<std::int64_t>(cut);
    if (cut > 0 && document.text[cut - 1] != '\n') corpus.division.cut_at = "a character";
    return false;
  });
  if (total < 2 || corpus.cut_byte <= 0 || corpus.cut_byte >= total) {
    throw Error("data.train", cat("holds ", total, " bytes of text: too little to hold a part out"),
                "add text, or name other text in data.valid");
  }
  corpus.division.rule = HoldOutRule::kTail;
  corpus.train_bytes = corpus.cut_byte;
}

// Counts the documents of the files and returns the bytes that no hash holds out.
std::int64_t count(const std::vector<fs::path>& files, Division& division) {
  std::int64_t kept = 0;
  division.empty_documents += for_each_document(files, [&](const DocumentView& document) {
    leave_if_stopped("prepare");
    const auto size = static_cast<std::int64_t>(document.text.size());
    division.bytes += size;
    division.prompts = division.prompts || document.has_prompts();
    if (!validates(document, division)) kept += size;
    return true;
  });
  return kept;
}

}  // namespace

TextCorpus divide_text(std::vector<fs::path> train_files, std::vector<fs::path> valid_files,
                       double valid_fraction) {
  TextCorpus corpus{std::move(train_files), std::move(valid_files), {}};
  Division& division = corpus.division;
  division.rule = hold_out_rule(!corpus.valid_files.empty(), valid_fraction);
  division.valid_fraction = valid_fraction;
  corpus.train_bytes = count(corpus.train_files, division);
  if (division.bytes == 0) throw Error("data.train", "holds no text: every document is empty");
  const bool one_sided = corpus.train_bytes == 0 || corpus.train_bytes == division.bytes;
  if (division.rule == HoldOutRule::kHash && one_sided) cut_tail(corpus);
  if (division.rule == HoldOutRule::kGiven && count(corpus.valid_files, division) == 0)
    throw Error("data.valid", "holds no text: every document is empty");
  return corpus;
}

void for_each_part(const TextCorpus& corpus, bool train_only, const PartCall& call) {
  std::int64_t start = 0;
  bool more = true;
  const auto hand = [&](const DocumentView& part, Split split) {
    if (more && !part.text.empty() && !(train_only && split == kValid)) more = call(part, split);
    return more;
  };
  for_each_document(corpus.train_files, [&](const DocumentView& document) {
    if (corpus.division.rule != HoldOutRule::kTail)
      return hand(document, validates(document, corpus.division) ? kValid : kTrain);
    const std::string_view text = document.text;
    const auto size = static_cast<std::int64_t>(text.size());
    const auto before =
        static_cast<std::size_t>(std::clamp<std::int64_t>(corpus.cut_byte - start, 0, size));
    start += size;
    const CutTurns turns = cut_turns(document.turns, before, text.size());
    return hand({document.id, text.substr(0, before), turns.first}, kTrain) &&
           hand({document.id, text.substr(before), turns.rest}, kValid);
  });
  if (!more || train_only || corpus.division.rule != HoldOutRule::kGiven) return;
  for_each_document(corpus.valid_files,
                    [&](const DocumentView& document) { return hand(document, kValid); });
}

}  // namespace alibi
