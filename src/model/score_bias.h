// What is added to the scaled scores of attention, as tensors.
//
// Letters: B sequences, H heads, T queries, S keys, L distances.
#pragma once

#include "device/tensor.h"
#include "kernels/attention.h"

namespace alibi {

// The sum of what is defined; the forms that kernels support (BiasForms). fp32 or fp64.
struct ScoreBias {
  torch::Tensor slopes_H;   // - slope_h (i - j)
  torch::Tensor table_HL;   // + table[h][min(i - j, L - 1)]
  torch::Tensor terms_BHS;  // + c[b][h][i] - c[b][h][j]; fp64, as sums over a long text are

  BiasForms forms() const;
  bool needs_gradient() const;
  // (H, length) fp64 on the CPU: the part that depends on distance alone, at 0 .. length - 1.
  torch::Tensor by_distance(std::int64_t heads, std::int64_t length) const;
};

}  // namespace alibi
