// Layouts of heads that kernels read and write.
#pragma once

#include <vector>

#include "device/tensor.h"
#include "kernels/head_rows.h"
#include "model/attention.h"

namespace alibi {

template <class Number>
HeadRows<Number> head_rows(const torch::Tensor& x_BHTD) {
  return {static_cast<Number*>(x_BHTD.data_ptr()), x_BHTD.stride(0), x_BHTD.stride(1),
          x_BHTD.stride(2)};
}

// As it is where each row's numbers lie side by side, else a copy.
torch::Tensor dense_rows(const torch::Tensor& x_BHTD);

// Laid out as (B, T, H, D), so that joining heads costs nothing.
torch::Tensor rows_like(const torch::Tensor& x_BHTD);

// Gradients of q, k and v side by side, as they are in the tensor they were split from
// (split_last); apart where queries and keys differ in number. Not filled.
AttentionGradients empty_gradients(const AttentionInputs& inputs);

// Views of x (B, T, W) whose last dimensions are `widths`, which add up to W. Where the views'
// gradients are side by side in memory, as the tiled kernels leave those of queries, keys and
// values, they are x's gradient as they are; LibTorch's split copies them together.
std::vector<torch::Tensor> split_last(const torch::Tensor& x_BTW,
                                      const std::vector<std::int64_t>& widths);

}  // namespace alibi
