// A corpus to token files, with what was counted on the way.
#pragma once

#include <filesystem>

#include "data/corpus.h"
#include "data/prepared.h"
#include "data/shards.h"
#include "text/tokenizer.h"

namespace alibi {

struct TokenisedText {
  TokenShards train;
  TokenShards valid;
  PreparedStatistics statistics;  // all but the files read
};

// Writes train-00000.tokens, valid-00000.tokens and so on into `folder` and opens them. Throws
// Error for what cannot be read or written, and when a signal asks to stop.
TokenisedText tokenise(const Corpus& corpus, const Tokenizer& tokenizer, int threads,
                       const PrepareProgress& progress, const std::filesystem::path& folder);

}  // namespace alibi
