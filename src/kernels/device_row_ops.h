// What the kernels of a device that go over rows are given (src/kernels/cuda/row_ops.cu), in plain
// numbers and pointers into its memory. What they compute is in kernels/row_ops.h.
//
// Letters: R rows, V vocabulary.
#pragma once

#include <cstdint>

#include "kernels/row_ops.h"

namespace alibi {

// cross_entropy_row_bf16 of every row.
struct DeviceCrossEntropy {
  int rows = 0, vocabulary = 0;
  std::uint16_t* logits_RV = nullptr;       // bf16; rows follow one another, without an alignment
  const std::int64_t* targets_R = nullptr;  // below V; negative: the row is left out
  float* losses_R = nullptr;                // out, with log_sums_R; 0 for rows left out
  float* log_sums_R = nullptr;
  GradientScale scale;  // with one the logits are overwritten; a row left out gets zeros
};

}  // namespace alibi
