#include "model/recompute.h"

#include "device/libtorch.h"

namespace alibi {
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

}  // namespace alibi
