// The two parametrised layers of a block. Weights are fp32 masters; products run in the input's
// type.
#pragma once

#include <torch/torch.h>

#include "products/linear_products.h"

namespace alibi {

struct AffineImpl : torch::nn::Module {
  AffineImpl(std::int64_t inputs, std::int64_t outputs, bool has_bias);
  torch::Tensor forward(const torch::Tensor& x);  // (..., I) -> (..., O) in x's type
  // The products of the weight as it is, for x of this type; null where LibTorch computes them.
  SharedProducts packed_for(const torch::Tensor& x);
  torch::Tensor weight_OI, bias_O;  // bias_O undefined without bias

 private:
  SharedProducts products_;  // of the weight as it was last used
};
TORCH_MODULE(Affine);

struct NormImpl : torch::nn::Module {
  NormImpl(std::int64_t width, double norm_epsilon, bool has_bias);
  torch::Tensor forward(const torch::Tensor& x);  // layer norm over the last dimension
  torch::Tensor weight_C, bias_C;                 // bias_C undefined without bias
  double epsilon;
};
TORCH_MODULE(Norm);

// down(gelu(up(x))) in one go; undefined where it has to be computed part by part.
torch::Tensor fused_mlp(Affine& up, Affine& down, const torch::Tensor& x);

}  // namespace alibi
