// The two parametrised layers of a block. Weights are fp32 masters; products run in the input's
// type.
#pragma once

#include <memory>

#include "model/layer_norm.h"
#include "model/module.h"
#include "products/linear_products.h"

namespace alibi {

struct AffineImpl : Module {
  AffineImpl(std::int64_t inputs, std::int64_t outputs, bool has_bias);
  torch::Tensor forward(const torch::Tensor& x);  // (..., I) -> (..., O) in x's type
  // base + forward(x), in one pass where products are packed. base is undefined or in x's type.
  torch::Tensor add_to(const torch::Tensor& base, const torch::Tensor& x);
  // The products of the weight as it is, for x of this type; null where LibTorch computes them.
  SharedProducts packed_for(const torch::Tensor& x);
  torch::Tensor weight_OI, bias_O;  // bias_O undefined without bias

 private:
  SharedProducts products_;  // of the weight as it was last used
};
using Affine = std::shared_ptr<AffineImpl>;

struct NormImpl : Module {
  NormImpl(std::int64_t width, double norm_epsilon, bool has_bias);
  torch::Tensor forward(const torch::Tensor& x) { return layer_norm(x, parts()); }
  NormFork fork(const torch::Tensor& x) { return fork_norm(x, parts()); }
  torch::Tensor weight_C, bias_C;  // bias_C undefined without bias
  double epsilon;

 private:
  LayerNorm parts() const { return {weight_C, bias_C, epsilon}; }
};
using Norm = std::shared_ptr<NormImpl>;

// base (or nothing, if undefined) + down(gelu(up(x))) in one go; undefined where it has to be
// computed part by part.
torch::Tensor fused_mlp(AffineImpl& up, AffineImpl& down, const torch::Tensor& base,
                        const torch::Tensor& x);

}  // namespace alibi
