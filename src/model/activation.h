// The MLP's activation.
#pragma once

#include "config/config.h"
#include "device/tensor.h"

namespace alibi {

// Of x's shape and type, differentiable. Exact GELU of bf16 on a CPU goes through
// kernels/row_ops.h where the processor can, all else through LibTorch.
torch::Tensor activate(const torch::Tensor& x, Activation activation);

}  // namespace alibi
