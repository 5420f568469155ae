// What is added to the scaled scores of attention, as tensors.
//
// Letters: B sequences, H heads, T queries, S keys, L distances.
#pragma once

#include <cstdint>
#include <functional>

#include "device/tensor.h"
#include "kernels/attention.h"

namespace alibi {

// Whether x is there and its gradient is wanted.
bool needs_gradient(const torch::Tensor& x);

// The sum of what is defined; the forms that kernels support (BiasForms). fp32 or fp64.
struct ScoreBias {
  torch::Tensor slopes_H;   // - slope_h (i - j)
  torch::Tensor table_HL;   // + table[h][min(i - j, L - 1)]
  torch::Tensor terms_BHS;  // + c[b][h][i] - c[b][h][j]; fp64, as sums over a long text are
  // + f(i, j), (H, R, S) for R queries from place `first` on and S keys from place 0 on, for what
  // is none of these. Differentiable in parameters of its own, whose gradients it gets where they
  // lie: backward calls it once more.
  std::function<torch::Tensor(std::int64_t first, std::int64_t rows, std::int64_t keys)> rows = {};
  bool rows_need_gradient = false;

  BiasForms forms() const;
  bool needs_gradient() const;
  // (H, length) fp64 on the CPU: the part that depends on distance alone, at 0 .. length - 1.
  torch::Tensor by_distance(std::int64_t heads, std::int64_t length) const;
};

// Terms of a text that goes on: `added` counts from 0 before its first position; `before`, of the
// positions before (undefined: none), has the value that it goes on from last.
torch::Tensor continue_terms(const torch::Tensor& before_BHS, const torch::Tensor& added_BHT);

// The gradient of terms, in their type, from that of c_i in a query's scores and that of c_j in a
// key's; the queries are at the last of the keys' places.
torch::Tensor sum_of_terms(const torch::Tensor& of_queries_BHT, const torch::Tensor& of_keys_BHS,
                           const torch::Tensor& terms_BHS);

}  // namespace alibi
