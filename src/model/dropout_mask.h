// Dropout masks where they are used.
#pragma once

#include "base/random.h"
#include "device/tensor.h"

namespace alibi {

// (N, width) fp32: row n is fill_dropout() of row rows_N[n] (int64), where rows_N is. On a device
// by LibTorch's integer operators, so that no mask is copied there: the same numbers.
torch::Tensor dropout_mask(RandomKey key, const torch::Tensor& rows_N, std::int64_t width,
                           double p);

// The same by the operators, on any device.
torch::Tensor dropout_mask_by_operators(RandomKey key, const torch::Tensor& rows_N,
                                        std::int64_t width, double p);

}  // namespace alibi
