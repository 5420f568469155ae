#include "model/layers.h"

#include "products/packed_layers.h"

namespace alibi {
namespace {

torch::Tensor like(const torch::Tensor& parameter, const torch::Tensor& x) {
  return parameter.defined() ? parameter.to(x.scalar_type()) : parameter;
}

bool wants_gradients(const torch::Tensor& x, const torch::Tensor& weight) {
  return at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad());
}

}  // namespace

AffineImpl::AffineImpl(std::int64_t inputs, std::int64_t outputs, bool has_bias) {
  weight_OI = register_parameter("weight", torch::zeros({outputs, inputs}));
  if (has_bias) bias_O = register_parameter("bias", torch::zeros({outputs}));
}

SharedProducts AffineImpl::packed_for(const torch::Tensor& x) {
  const torch::ScalarType type = x.scalar_type();
  const auto kind = LinearProducts::best_kind(weight_OI, type);
  if (kind == LinearProducts::Kind::kLibtorch) return {};
  if (!products_ || !products_->stands_for(weight_OI, type))
    products_ = c10::make_intrusive<LinearProducts>(weight_OI, type, kind);
  return products_;
}

torch::Tensor AffineImpl::forward(const torch::Tensor& x) {
  const SharedProducts packed = packed_for(x);
  if (!packed) return at::linear(x, like(weight_OI, x), like(bias_O, x));
  return wants_gradients(x, weight_OI) ? packed_linear(x, {weight_OI, bias_O, packed})
                                       : packed->forward(x, bias_O);
}

NormImpl::NormImpl(std::int64_t width, double norm_epsilon, bool has_bias) : epsilon(norm_epsilon) {
  weight_C = register_parameter("weight", torch::ones({width}));
  if (has_bias) bias_C = register_parameter("bias", torch::zeros({width}));
}

torch::Tensor NormImpl::forward(const torch::Tensor& x) {
  // On CPU bf16 rows may meet fp32 gains; LibTorch's CUDA kernel wants one type.
  const bool mixed = x.is_cpu() && x.scalar_type() == torch::kBFloat16;
  const torch::Tensor bias = mixed && !bias_C.defined() ? torch::zeros_like(weight_C) : bias_C;
  return mixed ? at::layer_norm(x, weight_C.sizes(), weight_C, bias, epsilon)
               : at::layer_norm(x, weight_C.sizes(), like(weight_C, x), like(bias, x), epsilon);
}

torch::Tensor fused_mlp(Affine& up, Affine& down, const torch::Tensor& x) {
  const SharedProducts first = up->packed_for(x), second = down->packed_for(x);
  if (!first || !second) return {};
  if (wants_gradients(x, up->weight_OI))
    return packed_mlp(x, {up->weight_OI, up->bias_O, first},
                      {down->weight_OI, down->bias_O, second});
  return second->forward(first->forward_gelu(x, up->bias_O).after, down->bias_O);
}

}  // namespace alibi
