// What is added to the scaled scores of attention, and which keys a query sees, as tensors.
//
// Letters: B sequences, H heads, T queries, S keys, L distances.
#pragma once

#include "device/tensor.h"
#include "kernels/attention.h"
#include "kernels/visible_keys.h"

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

// The rule of kernels/visible_keys.h.
struct VisibleKeys {
  torch::Tensor first_BT;  // int64; undefined: every query sees from key 0
  std::int64_t window = 0, global = 0;
  torch::Tensor list_begin, list_blocks;  // int64, on the CPU: BlockList; undefined: no list

  KeyRule rule() const;
  struct Part {
    std::int64_t queries, keys;       // T, S
    std::int64_t first, count, seen;  // queries first .. first + count - 1, keys below `seen`
  };
  // (1 or B, count, seen): which keys each query of the part does not see, by the formula.
  torch::Tensor hidden(const Part& part, torch::Device device) const;
};

}  // namespace alibi
