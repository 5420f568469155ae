#include "optimizer/clip.h"

#include <cmath>

#include "device/libtorch.h"

namespace alibi {

double gradient_norm(const std::vector<torch::Tensor>& parameters) {
  const torch::NoGradGuard guard;
  torch::Tensor sum;
  for (const torch::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    const torch::Tensor square = parameter.grad().norm().to(torch::kDouble).square();
    sum = sum.defined() ? sum + square : square;
  }
  return sum.defined() ? std::sqrt(sum.item<double>()) : 0.0;
}

void clip_gradients(const std::vector<torch::Tensor>& parameters, double norm, double limit) {
  const torch::NoGradGuard guard;
  if (limit <= 0 || norm <= limit) return;
  for (const torch::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) parameter.mutable_grad().mul_(limit / norm);
  }
}

}  // namespace alibi
