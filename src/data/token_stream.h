// Text for evaluation: files to one stream of ids in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace alibi {

struct TokenStream {
  std::vector<std::int32_t> ids;  // each document and its end token
  std::int64_t bytes = 0;         // of text that ids stand for
  std::int64_t documents = 0;     // that end in ids
  std::string hash;               // SHA-256 of ids as little-endian 32-bit numbers
};

// max_tokens: how many ids to keep at most, 0 for all; reading stops soon after. The result does
// not depend on the number of threads. Throws Error for what find_text_files and for_each_document
// refuse.
TokenStream tokenize_files(const std::vector<std::string>& names, const Tokenizer& tokenizer,
                           int threads, std::int64_t max_tokens = 0);

}  // namespace alibi
