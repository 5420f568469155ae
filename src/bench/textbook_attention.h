// Textbook implementations of attention, to read and to count with: the standard algorithm, which
// holds the table of all scores, and FlashAttention (Dao et al. 2022, algorithms 0 and 1), which
// holds blocks of it. Forward, with slopes, order and documents.
#pragma once

#include "model/attention.h"

namespace alibi {

// Numbers that cross between fast memory (room for `fast_numbers`) and slow memory.
struct Traffic {
  std::int64_t reads = 0, writes = 0;
};

AttentionOutputs standard_attention_forward(const AttentionInputs& inputs,
                                            Traffic* traffic = nullptr);
AttentionOutputs flash_attention_forward(const AttentionInputs& inputs, std::int64_t fast_numbers,
                                         Traffic* traffic = nullptr);

// Block sizes of algorithm 1 for head width d and M numbers of fast memory.
struct FlashBlocks {
  std::int64_t keys;     // B_c = ceil(M / 4 d)
  std::int64_t queries;  // B_r = min(ceil(M / 4 d), d)
};
FlashBlocks flash_blocks(std::int64_t head_width, std::int64_t fast_numbers);

}  // namespace alibi
