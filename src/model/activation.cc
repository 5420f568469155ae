#include "model/activation.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include "device/libtorch.h"
#include "kernels/processor.h"
#include "kernels/row_ops.h"
#include "products/spread.h"

namespace alibi {
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
      gelu_bf16(words(x) + first, end - first, words(out) + first);
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_USER_SCOPE("alibi::activation");
    const torch::Tensor x = context->get_saved_variables()[0];
    const torch::Tensor gradient = gradients[0].contiguous();
    torch::Tensor out = torch::empty_like(x);
    at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t first, std::int64_t end) {
      gelu_backward_bf16(words(x) + first, words(gradient) + first, end - first,
                         words(out) + first);
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

}  // namespace alibi
