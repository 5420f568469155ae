// A corpus of token ids that other trainers wrote (formats/token_file.h): documents as they are,
// split at end tokens and at the documents that an index names, each in training or in validation
// (data/hold_out.h, over ids).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "data/hold_out.h"
#include "formats/token_file.h"
#include "text/encode_parallel.h"
#include "text/tokenizer.h"

namespace alibi {

// A document without its end token; not empty.
struct TokenRange {
  std::shared_ptr<const TokenFile> file;
  std::int64_t first = 0, last = 0;  // one behind the last token
  Split split = kTrain;
};

struct TokenCorpus {
  std::vector<TokenRange> documents;
  Division division;
};

// Reads every id once. Throws Error naming file and token where one is outside the vocabulary, and
// at data.train or data.valid where that side would be empty.
TokenCorpus divide_tokens(const std::vector<std::filesystem::path>& train_files,
                          const std::vector<std::filesystem::path>& valid_files,
                          const Tokenizer& tokenizer, double valid_fraction);

// The documents of all files, in order, without a division. Throws as above.
TokenCorpus all_tokens(const std::vector<std::filesystem::path>& files, const Tokenizer& tokenizer);

// Each document in parts of at most a million tokens, as the encoder hands them over; the last part
// of each has the end token. The call returns false to stop.
void for_each_part(const TokenCorpus& corpus, const Tokenizer& tokenizer,
                   const ParallelEncoder::Sink& call);

}  // namespace alibi
