// The activation's fast path against LibTorch's operator in fp64.
#include "device/libtorch.h"
#include "model/layers.h"

#include <gtest/gtest.h>

#include "support/tiny_model.h"

namespace alibi {
namespace {

TEST(Activation, GeluAndItsGradientAreWithinHalfAUnitOfTheExactOnes) {
  const torch::Tensor x = torch::linspace(-8, 8, 4003).to(torch::kBFloat16).requires_grad_();
  const torch::Tensor exact_x = x.detach().to(torch::kDouble).requires_grad_();
  const torch::Tensor gradient = torch::linspace(0.5, 2, 4003).to(torch::kBFloat16);
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh}) {
    x.mutable_grad() = torch::Tensor();
    exact_x.mutable_grad() = torch::Tensor();
    const torch::Tensor y = activate(x, kind);
    const torch::Tensor exact = at::gelu(exact_x, kind == Activation::kGelu ? "none" : "tanh");
    y.backward(gradient);
    exact.backward(gradient.to(torch::kDouble));
    EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
    // Half a unit of bf16 relative, and erf's own 1.5e-7 for numbers near 0.
    const auto off = [](const torch::Tensor& found, const torch::Tensor& truth) {
      return ((found.to(torch::kDouble) - truth).abs() - truth.abs() * 0x1.01p-8)
          .max()
          .item<double>();
    };
    EXPECT_LT(off(y.detach(), exact.detach()), 2e-6);
    EXPECT_LT(off(x.grad(), exact_x.grad()), 8e-6);
  }
}

TEST(Activation, NonFiniteNumbersStayVisible) {
  const torch::Tensor x = torch::tensor({std::nanf(""), INFINITY, -INFINITY}).to(torch::kBFloat16);
  const torch::Tensor y = activate(x, Activation::kGelu);
  EXPECT_TRUE(y.isnan()[0].item<bool>());
  EXPECT_TRUE(y.isinf()[1].item<bool>());
}

}  // namespace
}  // namespace alibi
