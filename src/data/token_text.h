// Text that other trainers have tokenised (formats/token_file.h) as documents: token ids as they
// are, split at end tokens and at the documents that an index names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/hold_out.h"
#include "formats/token_file.h"
#include "text/encode_parallel.h"
#include "text/tokenizer.h"

namespace alibi {

// How many of the names are files of token ids, which cannot stand beside text.
std::ptrdiff_t count_token_files(const std::vector<std::string>& names);

// A document without its end token; not empty.
struct TokenRange {
  std::shared_ptr<const TokenFile> file;
  std::int64_t first = 0, last = 0;  // one behind the last token
  Split split = kTrain;
};

struct TokenPlan {
  std::vector<TokenRange> documents;
  std::int64_t empty_documents = 0;
  std::int64_t tokens = 0;  // end tokens left out
  std::string hold_out;     // for people
};

// Reads every id once. Throws Error naming file and token where one is outside the vocabulary, and
// where a side would be empty. The hold-out rule is that of text (data/hold_out.h), over ids.
TokenPlan plan_tokens(const std::vector<std::filesystem::path>& train_files,
                      const std::vector<std::filesystem::path>& valid_files,
                      const Tokenizer& tokenizer, double valid_fraction);

// The documents of all files, in order, without a division. Throws as above.
TokenPlan all_tokens(const std::vector<std::filesystem::path>& files, const Tokenizer& tokenizer);

// Each document in parts of at most a million tokens, as the encoder hands them over; the last part
// of each has the end token. The call returns false to stop.
void for_each_part(const TokenPlan& plan, const Tokenizer& tokenizer,
                   const ParallelEncoder::Sink& call);

}  // namespace alibi
