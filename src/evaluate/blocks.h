// Blocks of a text's losses that are resampled together (evaluate/statistics.h): what stands in one
// is no more independent than one window.
#pragma once

#include <cstdint>
#include <vector>

#include "data/text_sample.h"

namespace alibi {

// Tokens of a run that make a block, from its first on: a window, or windows that are taken
// together.
std::int64_t block_tokens(const TextSample& sample);

// Where blocks of the sample's losses end, as bootstrap_means'. Prompts leave fewer losses in some;
// one of prompts alone is none.
std::vector<std::int64_t> block_ends(const TextSample& sample);

}  // namespace alibi
