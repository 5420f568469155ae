// The documents of a text, divided into training and validation, as a stream of token ids: the same
// for text and for token ids that other trainers wrote.
#pragma once

#include <optional>
#include <variant>

#include "data/hold_out.h"
#include "data/named_text.h"
#include "data/text_corpus.h"
#include "data/token_corpus.h"
#include "text/encode_parallel.h"
#include "text/tokenizer.h"

namespace alibi {

using Corpus = std::variant<TextCorpus, TokenCorpus>;

// Reads all text once. `tokenizer`: must be given for token ids, is not used for text. Throws Error
// for what cannot be read, and at data.train or data.valid when that side would be empty.
Corpus divide(const NamedText& text, double valid_fraction,
              const std::optional<Tokenizer>& tokenizer);

const Division& division_of(const Corpus& corpus);

// Hands over each part of each document in order; EncodedPart::stream is its Split. The sink
// returns false to stop. Text is encoded on several threads; the ids do not depend on their number.
void encode(const Corpus& corpus, const Tokenizer& tokenizer, int threads,
            const ParallelEncoder::Sink& sink);

// The same for files that are not divided, which are read once: all of it is kValid.
void encode(const TextFiles& text, const Tokenizer& tokenizer, int threads,
            const ParallelEncoder::Sink& sink);

}  // namespace alibi
