#pragma once

#include <vector>

#include "device/tensor.h"

namespace alibi {

// Views of x (B, T, W) whose last dimensions are `widths`, which add up to W. Where the views'
// gradients stand side by side in memory, as the tiled kernels leave those of queries, keys and
// values, they are x's gradient as they are; LibTorch's split copies them together.
std::vector<torch::Tensor> split_last(const torch::Tensor& x_BTW,
                                      const std::vector<std::int64_t>& widths);

}  // namespace alibi
