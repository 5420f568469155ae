// Dropout masks where they are used.
#pragma once

#include <string>

#include "base/random.h"
#include "device/row_module.h"
#include "device/tensor.h"

namespace alibi {

// (N, width) fp32: row n is fill_dropout() of row rows_N[n] (int64), where rows_N is. On a device
// by its kernel, or by LibTorch's integer operators, so that no mask is copied there: the same
// numbers.
torch::Tensor dropout_mask(RandomKey key, const torch::Tensor& rows_N, std::int64_t width,
                           double p);

// The same by the operators, on any device.
torch::Tensor dropout_mask_by_operators(RandomKey key, const torch::Tensor& rows_N,
                                        std::int64_t width, double p);

// The same by the kernel of rows_N's device. Throws Error when it cannot be queued.
torch::Tensor device_dropout_mask(const RowQueue& queue, RandomKey key, const torch::Tensor& rows_N,
                                  std::int64_t width, double p);

// Where that kernel's numbers are others on a small problem of this device, for which this waits;
// "": nowhere. dropout_mask() asks at the first use (device/first_use.h).
std::string fault_of_device_dropout(const RowQueue& queue, torch::Device device);

}  // namespace alibi
