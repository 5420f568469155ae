#include "model/layers.h"

#include <algorithm>
#include <initializer_list>

#include "device/libtorch.h"
#include "products/packed_layers.h"

namespace alibi {
namespace {

torch::Tensor like(const torch::Tensor& parameter, const torch::Tensor& x) {
  return parameter.defined() ? parameter.to(x.scalar_type()) : parameter;
}

bool wants_gradients(std::initializer_list<torch::Tensor> of) {
  return at::GradMode::is_enabled() && std::any_of(of.begin(), of.end(), [](const auto& x) {
           return x.defined() && x.requires_grad();
         });
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

torch::Tensor AffineImpl::forward(const torch::Tensor& x) { return add_to({}, x); }

torch::Tensor AffineImpl::add_to(const torch::Tensor& base, const torch::Tensor& x) {
  const SharedProducts packed = packed_for(x);
  if (!packed) {
    const torch::Tensor y = at::linear(x, like(weight_OI, x), like(bias_O, x));
    return base.defined() ? base + y : y;
  }
  return wants_gradients({base, x, weight_OI, bias_O})
             ? packed_linear(base, x, {weight_OI, bias_O, packed})
             : packed->forward(x, bias_O, base);
}

NormImpl::NormImpl(std::int64_t width, double norm_epsilon, bool has_bias) : epsilon(norm_epsilon) {
  weight_C = register_parameter("weight", torch::ones({width}));
  if (has_bias) bias_C = register_parameter("bias", torch::zeros({width}));
}

torch::Tensor fused_mlp(AffineImpl& up, AffineImpl& down, const torch::Tensor& base,
                        const torch::Tensor& x) {
  const SharedProducts first = up.packed_for(x), second = down.packed_for(x);
  if (!first || !second) return {};
  if (wants_gradients({base, x, up.weight_OI, up.bias_O, down.weight_OI, down.bias_O})) {
    return packed_mlp(base, x, {up.weight_OI, up.bias_O, first},
                      {down.weight_OI, down.bias_O, second});
  }
  return second->forward(first->forward_gelu(x, up.bias_O, false).after, down.bias_O, base);
}

}  // namespace alibi
