#include "data/corpus.h"

#include <cmath>

#include "base/error.h"
#include "base/overloaded.h"
#include "base/strings.h"
#include "text/documents.h"

namespace alibi {

Corpus divide(const NamedText& text, double valid_fraction,
              const std::optional<Tokenizer>& tokenizer) {
  if (text.kind() == TextKind::kText)
    return divide_text(text.train.files, text.valid.files, valid_fraction);
  ensure(text.kind() == TextKind::kTokens && tokenizer, "token ids come with their tokenizer");
  return divide_tokens(text.train.files, text.valid.files, *tokenizer, valid_fraction);
}

const Division& division_of(const Corpus& corpus) {
  return std::visit([](const auto& one) -> const Division& { return one.division; }, corpus);
}

void encode(const Corpus& corpus, const Tokenizer& tokenizer, int threads,
            const ParallelEncoder::Sink& sink) {
  const auto encode_text = [&](const TextCorpus& text) {
    ParallelEncoder encoder(tokenizer, threads, sink);
    for_each_part(text, false, [&](const DocumentView& part, Split split) {
      return encoder.add(part.text, split, part.turns);
    });
    encoder.flush();
  };
  const auto hand_tokens = [&](const TokenCorpus& tokens) {
    for_each_part(tokens, tokenizer, sink);
  };
  std::visit(Overloaded{encode_text, hand_tokens}, corpus);
}

void encode(const TextFiles& text, const Tokenizer& tokenizer, int threads,
            const ParallelEncoder::Sink& sink) {
  if (text.kind == TextKind::kTokens)
    return for_each_part(all_tokens(text.files, tokenizer), tokenizer, sink);
  ParallelEncoder encoder(tokenizer, threads, sink);
  for_each_document(text.files, [&](const DocumentView& document) {
    return encoder.add(document.text, kValid, document.turns);
  });
  encoder.flush();
}

HoldOutRule hold_out_rule(bool valid_given, double valid_fraction) {
  if (valid_given) return HoldOutRule::kGiven;
  return valid_fraction > 0 ? HoldOutRule::kHash : HoldOutRule::kNone;
}

bool held_out(const std::string& sha256, double valid_fraction) {
  const auto top = std::stoull(sha256.substr(0, 13), nullptr, 16);  // 52 bits: exact as a double
  return std::ldexp(static_cast<double>(top), -52) < valid_fraction;
}

std::string Division::rule_text() const {
  const std::string percent = significant(100 * valid_fraction, 4) + " %";
  switch (rule) {
    case HoldOutRule::kGiven:
      return "data.valid";
    case HoldOutRule::kHash:
      return percent + " of the documents, by hash of their text";
    case HoldOutRule::kTail:
      return cat("the last ", percent, " of the text, cut at ", cut_at);
    case HoldOutRule::kNone:
      return "nothing (data.valid_fraction is 0)";
  }
  return "";
}

}  // namespace alibi
