// alibi bench tokenize: text to token ids, as prepare does it.
#pragma once

#include <string>
#include <vector>

#include "bench/record.h"
#include "text/tokenizer.h"

namespace alibi {

// All documents of `files`, on 1 and on `threads` threads.
BenchRecord bench_tokenize(const std::vector<std::string>& files, const Tokenizer& tokenizer,
                           int threads, const Rounds& rounds);

}  // namespace alibi
