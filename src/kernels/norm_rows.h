// Layer norm over rows of bf16 numbers, forward and backward; gains and sums in fp32. They need
// has_avx512_bf16(); elsewhere LibTorch's operators do the same work (model/layer_norm.cc).
//
//   y = (x - mean) / sqrt(variance + epsilon) * weight + bias          over the C numbers of a row
#pragma once

#include <cstdint>

namespace alibi {

struct NormRows {
  const std::uint16_t* x;  // [rows][width], one row behind the other
  std::int64_t rows, width;
  const float* weight;  // [width]
  const float* bias;    // [width] or null
  float* mean;          // [rows], written forward, read backward
  float* reciprocal;    // [rows] 1 / sqrt(variance + epsilon), likewise
};

void norm_rows_bf16(const NormRows& of, float epsilon, std::uint16_t* y);

struct NormRowGradients {
  const std::uint16_t* dy;
  const std::uint16_t* added;  // of x from elsewhere, added to dx; or null
  std::uint16_t* dx;
  float* dweight;  // [width], added to
  float* dbias;    // [width], added to; or null
};

void norm_rows_backward_bf16(const NormRows& of, const NormRowGradients& gradients);

}  // namespace alibi
