#include "data/corpus.h"

#include "base/error.h"
#include "base/overloaded.h"
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
      return encoder.add(part.text, split, part.prompt);
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
    return encoder.add(document.text, kValid, document.prompt);
  });
  encoder.flush();
}

}  // namespace alibi
