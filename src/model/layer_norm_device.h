// Layer norm by the kernels of a device (kernels/cuda/layer_norm.h), over the last dimension.
//
// Letters: N rows, C width.
#pragma once

#include <string>

#include "device/row_module.h"
#include "device/tensor.h"
#include "model/layer_norm.h"

namespace alibi {

// Row statistics of a forward pass, fp32; undefined: not kept.
struct NormStatistics {
  torch::Tensor mean_N, reciprocal_N;  // reciprocal_N: 1 / sqrt(variance + epsilon)
};
NormStatistics room_for_statistics(const torch::Tensor& x);

struct NormGradients {
  torch::Tensor dx, dweight_C, dbias_C;  // fp32 but for dx; dbias_C undefined without biases
};

// Whether kernels of x's device know these rows: bf16 of a width that they know, fp32 gains and
// biases beside them, all at boundaries of 16 bytes.
bool device_norm_takes(const torch::Tensor& x, const LayerNorm& norm);

// The norm of rows that device_norm_takes(), one behind the other. Throws Error when it cannot be
// queued.
torch::Tensor device_norm(const RowQueue& queue, const torch::Tensor& x, const LayerNorm& norm,
                          const NormStatistics& statistics);

// `added` (undefined: nothing) is added to dx. Sums over rows have at most `most_parts` parts, or
// the kernel's own count; they have the same bits for the same numbers and count. Throws Error when
// it cannot be queued.
NormGradients device_norm_gradient(const RowQueue& queue, const torch::Tensor& x,
                                   const LayerNorm& norm, const NormStatistics& statistics,
                                   const torch::Tensor& dy, const torch::Tensor& added,
                                   int most_parts = 1 << 30);

// In what these kernels differ from the formula on a problem of this width and device, for which
// this waits; "": in nothing.
std::string fault_of_device_norm(const RowQueue& queue, torch::Device device, std::int64_t width);

// Whether they are right; asked once for each width and device (device/first_use.h).
bool device_norm_is_right(const RowModule& module, torch::Device device, std::int64_t width);

}  // namespace alibi
