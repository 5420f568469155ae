// The two parametrised layers of a block. Weights are fp32 masters; products run in the input's
// type.
#pragma once

#include <torch/torch.h>

#include "products/linear_products.h"

namespace alibi {

struct AffineImpl : torch::nn::Module {
  AffineImpl(std::int64_t inputs, std::int64_t outputs, bool has_bias);
  torch::Tensor forward(const torch::Tensor& x);  // (..., I) -> (..., O) in x's type
  torch::Tensor weight_OI, bias_O;                // bias_O undefined without bias

 private:
  c10::intrusive_ptr<LinearProducts> products_;  // of the weight as it was last used
};
TORCH_MODULE(Affine);

struct NormImpl : torch::nn::Module {
  NormImpl(std::int64_t width, double norm_epsilon, bool has_bias);
  torch::Tensor forward(const torch::Tensor& x);  // layer norm over the last dimension
  torch::Tensor weight_C, bias_C;                 // bias_C undefined without bias
  double epsilon;
};
TORCH_MODULE(Norm);

}  // namespace alibi
