// Layer norm over the last dimension, in one pass where bf16 rows meet an AVX-512 processor or a
// device with kernels for them.
#pragma once

#include <cstdint>

#include "device/tensor.h"

namespace alibi {

struct RowModule;

struct LayerNorm {
  torch::Tensor weight_C, bias_C;  // bias_C may be undefined
  double epsilon;
};

torch::Tensor layer_norm(const torch::Tensor& x, const LayerNorm& norm);

// x as it is and its norm. In a residual block both get a gradient, which then meet in the pass
// that computes the norm's.
struct NormFork {
  torch::Tensor same, normed;
};
NormFork fork_norm(const torch::Tensor& x, const LayerNorm& norm);
// By `kernels` of x's device where they know such rows and are right at their first use; null:
// there are none.
NormFork fork_norm(const torch::Tensor& x, const LayerNorm& norm, const RowModule* kernels);

// The same of single rows in memory, bf16, without a graph. Points into the gains.
class RowNorm {
 public:
  static bool takes(const LayerNorm& norm);  // here and now
  explicit RowNorm(const LayerNorm& norm);
  void operator()(const std::uint16_t* x, std::uint16_t* y) const;

 private:
  const float *weight_, *bias_;
  std::int64_t width_;
  float epsilon_;
};

}  // namespace alibi
