#include "model/linear/linear_layers.h"

#include <optional>

#include "device/libtorch.h"

namespace alibi {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<torch::Tensor>;  // LibTorch takes no undefined tensors as arguments

Maybe as_argument(const torch::Tensor& x) { return x.defined() ? Maybe(x) : std::nullopt; }

torch::Tensor or_undefined(const Maybe& x) { return x.value_or(torch::Tensor()); }

void keep(AutogradContext& context, const char* name, const SharedProducts& products) {
  context.saved_data[name] = c10::IValue::make_capsule(products);
}

SharedProducts kept(AutogradContext& context, const char* name) {
  return c10::static_intrusive_pointer_cast<LinearProducts>(context.saved_data[name].toCapsule());
}

torch::Tensor weight_gradient(const SharedProducts& products, const torch::Tensor& dy,
                              const torch::Tensor& x, const torch::Tensor& weight_OI) {
  torch::Tensor dw_OI = torch::empty_like(weight_OI);
  products->weight_gradient(dy, x, dw_OI, false);
  return dw_OI;
}

torch::Tensor bias_gradient(AutogradContext& context, const char* name, const torch::Tensor& dy) {
  return context.saved_data[name].toBool() ? LinearProducts::bias_gradient(dy) : torch::Tensor();
}

torch::Tensor base_gradient(AutogradContext& context, const torch::Tensor& dy) {
  return context.saved_data["base"].toBool() ? dy : torch::Tensor();
}

class LinearLayer : public torch::autograd::Function<LinearLayer> {
 public:
  static torch::Tensor forward(AutogradContext* context, const Maybe& base, const torch::Tensor& x,
                               const torch::Tensor& weight_OI, const Maybe& bias_O,
                               const SharedProducts& products) {
    context->save_for_backward({x, weight_OI});
    context->saved_data["bias"] = bias_O.has_value();
    keep(*context, "products", products);
    context->saved_data["base"] = base.has_value();
    return products->forward(x, or_undefined(bias_O), or_undefined(base));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const SharedProducts products = kept(*context, "products");
    const torch::Tensor dy = gradients[0].contiguous();
    const torch::Tensor dw_OI = weight_gradient(products, dy, saved[0], saved[1]);
    const torch::Tensor dx = products->input_gradient(dy);
    products->forget_backward();
    return {base_gradient(*context, dy), dx, dw_OI, bias_gradient(*context, "bias", dy), {}};
  }
};

class PackedMlp : public torch::autograd::Function<PackedMlp> {
 public:
  static torch::Tensor forward(AutogradContext* context, const Maybe& base, const torch::Tensor& x,
                               const torch::Tensor& up_FC, const Maybe& up_F,
                               const torch::Tensor& down_CF, const Maybe& down_C,
                               const SharedProducts& up, const SharedProducts& down) {
    const auto h = up->forward_gelu(x, or_undefined(up_F), true);
    context->save_for_backward({x, up_FC, down_CF, h.before});
    context->saved_data["up bias"] = up_F.has_value();
    context->saved_data["down bias"] = down_C.has_value();
    keep(*context, "up", up);
    keep(*context, "down", down);
    context->saved_data["base"] = base.has_value();
    return down->forward(h.after, or_undefined(down_C), or_undefined(base));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &up_FC = saved[1], &down_CF = saved[2];
    const torch::Tensor& before = saved[3];
    const SharedProducts up = kept(*context, "up"), down = kept(*context, "down");
    const torch::Tensor dy = gradients[0].contiguous();
    torch::Tensor ddown_CF = torch::empty_like(down_CF);
    down->weight_gradient_gelu(dy, before, ddown_CF);
    const torch::Tensor dbefore = down->input_gradient_gelu(dy, before);
    down->forget_backward();
    const torch::Tensor dup_FC = weight_gradient(up, dbefore, x, up_FC);
    const torch::Tensor dx = up->input_gradient(dbefore);
    up->forget_backward();
    return {base_gradient(*context, dy),
            dx,
            dup_FC,
            bias_gradient(*context, "up bias", dbefore),
            ddown_CF,
            bias_gradient(*context, "down bias", dy),
            {},
            {}};
  }
};

}  // namespace

torch::Tensor linear_layer(const torch::Tensor& base, const torch::Tensor& x,
                           const AffineProducts& layer) {
  return LinearLayer::apply(as_argument(base), x, layer.weight_OI, as_argument(layer.bias_O),
                            layer.products);
}

torch::Tensor packed_mlp(const torch::Tensor& base, const torch::Tensor& x,
                         const AffineProducts& up, const AffineProducts& down) {
  return PackedMlp::apply(as_argument(base), x, up.weight_OI, as_argument(up.bias_O),
                          down.weight_OI, as_argument(down.bias_O), up.products, down.products);
}

}  // namespace alibi
