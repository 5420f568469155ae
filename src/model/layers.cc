#include "model/layers.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <algorithm>
#include <initializer_list>

#include "device/libtorch.h"
#include "kernels/processor.h"
#include "kernels/row_ops.h"
#include "model/dropout_mask.h"
#include "model/linear/linear_layers.h"
#include "model/linear/spread.h"

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

bool AffineImpl::packs_for(torch::ScalarType type) const {
  return packs_ && LinearProducts::best_kind(weight_OI, type) == LinearProducts::Kind::kPacked;
}

SharedProducts AffineImpl::packed_for(const torch::Tensor& x) {
  return packs_for(x.scalar_type()) ? products_for(x) : SharedProducts();
}

SharedProducts AffineImpl::products_for(const torch::Tensor& x) {
  using Kind = LinearProducts::Kind;
  const torch::ScalarType type = x.scalar_type();
  const bool packs = packs_for(type), casts = x.is_cuda() && type == torch::kBFloat16 &&
                                              weight_OI.scalar_type() == torch::kFloat;
  if (!packs && !casts) return {};
  if (!products_ || !products_->matches(weight_OI, type)) {
    products_ = c10::make_intrusive<LinearProducts>(weight_OI, type,
                                                    packs ? Kind::kPacked : Kind::kLibtorch);
  }
  return products_;
}

torch::Tensor AffineImpl::forward(const torch::Tensor& x) { return add_to({}, x); }

torch::Tensor AffineImpl::add_to(const torch::Tensor& base, const torch::Tensor& x) {
  const SharedProducts products = products_for(x);
  if (!products) {
    const torch::Tensor y = at::linear(x, like(weight_OI, x), like(bias_O, x));
    return base.defined() ? base + y : y;
  }
  return wants_gradients({base, x, weight_OI, bias_O})
             ? linear_layer(base, x, {weight_OI, bias_O, products})
             : products->forward(x, bias_O, base);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kGrain = 1 << 14;

class Gelu : public torch::autograd::Function<Gelu> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x) {
    RECORD_USER_SCOPE("alibi::activation");
    context->save_for_backward({x});
    torch::Tensor out = torch::empty_like(x);
    at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t first, std::int64_t end) {
      gelu_bf16(bf16_data(x) + first, end - first, bf16_data(out) + first);
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_USER_SCOPE("alibi::activation");
    const torch::Tensor x = context->get_saved_variables()[0];
    const torch::Tensor gradient = gradients[0].contiguous();
    torch::Tensor out = torch::empty_like(x);
    at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t first, std::int64_t end) {
      gelu_backward_bf16(bf16_data(x) + first, bf16_data(gradient) + first, end - first,
                         bf16_data(out) + first);
    });
    return {out};
  }
};

}  // namespace

torch::Tensor activate(const torch::Tensor& x, Activation activation) {
  const bool exact = activation == Activation::kGelu;
  if (exact && x.is_cpu() && x.scalar_type() == torch::kBFloat16 && has_avx512_bf16())
    return Gelu::apply(x.contiguous());
  return at::gelu(x, exact ? "none" : "tanh");
}

torch::Tensor mlp(AffineImpl& up, AffineImpl& down, Activation activation,
                  const torch::Tensor& base, const torch::Tensor& x) {
  const bool fuses = activation == Activation::kGelu;
  const SharedProducts first = fuses ? up.packed_for(x) : SharedProducts(),
                       second = fuses ? down.packed_for(x) : SharedProducts();
  if (!first || !second) return down.add_to(base, activate(up.forward(x), activation));
  if (wants_gradients({base, x, up.weight_OI, up.bias_O, down.weight_OI, down.bias_O})) {
    return packed_mlp(base, x, {up.weight_OI, up.bias_O, first},
                      {down.weight_OI, down.bias_O, second});
  }
  return second->forward(first->forward_gelu(x, up.bias_O, false).after, down.bias_O, base);
}

torch::Tensor dropout(const torch::Tensor& x, double p, RandomKey key, std::int64_t first) {
  if (p == 0) return x;
  const std::int64_t width = x.size(-1), rows = x.numel() / width;
  const torch::Tensor rows_N = torch::arange(first, first + rows, x.options().dtype(torch::kLong));
  // Whether, and by how much: bf16 would round 1 / (1 - p) by up to 0.3 %, in training alone.
  const torch::Tensor kept = dropout_mask(key, rows_N, width, p) != 0;
  return x * kept.view(x.sizes()).to(x.scalar_type()) * (1 / (1 - p));
}

std::int64_t head_width(const ModelConfig& m) { return m.width / m.heads; }
std::int64_t key_value_heads(const ModelConfig& m) { return m.key_value_heads.value_or(m.heads); }

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Held : torch::CustomClassHolder {
  explicit Held(TensorFunction function) : f(std::move(function)) {}
  TensorFunction f;
};

class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const c10::intrusive_ptr<Held>& held) {
    context->save_for_backward({x});
    context->saved_data["f"] = c10::IValue::make_capsule(held);
    return held->f(x);  // builds no graph here
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::AutoGradMode on(true);
    const auto held =
        c10::static_intrusive_pointer_cast<Held>(context->saved_data["f"].toCapsule());
    const torch::Tensor x = context->get_saved_variables()[0].detach().requires_grad_();
    const torch::Tensor y = held->f(x);
    torch::autograd::backward({y}, {gradients[0]});
    return {x.grad(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor recomputed(const torch::Tensor& x, TensorFunction f) {
  return Recomputed::apply(x, c10::make_intrusive<Held>(std::move(f)));
}

torch::Tensor by_row_chunks(const torch::Tensor& x_NC, std::int64_t chunk, const RowFunction& f) {
  if (chunk == 0 || chunk >= x_NC.size(0)) return f(x_NC, 0);
  std::vector<torch::Tensor> parts;
  for_row_chunks(x_NC.size(0), chunk, [&](std::int64_t first, std::int64_t count) {
    const torch::Tensor x_RC = x_NC.narrow(0, first, count);
    const auto part = [f, first](const torch::Tensor& rows_RC) { return f(rows_RC, first); };
    parts.push_back(at::GradMode::is_enabled() && x_RC.requires_grad() ? recomputed(x_RC, part)
                                                                       : part(x_RC));
  });
  return torch::cat(parts);
}

}  // namespace alibi
