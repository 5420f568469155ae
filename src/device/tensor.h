// torch::Tensor with its methods, devices, types and NoGradGuard: what most files need of LibTorch.
// Functions that make tensors, autograd and the rest are in device/libtorch.h, which costs every
// file that includes it some two seconds more.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

namespace torch {
using namespace at;  // as torch/types.h does
}  // namespace torch
