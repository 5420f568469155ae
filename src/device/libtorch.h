// LibTorch as this program needs it: functions on tensors, autograd and threads. Its own
// torch/torch.h brings all layers, optimizers and data loaders, too, and every file that is
// compiled pays for them. Headers and files that only hand tensors on include device/tensor.h.
#pragma once

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include "device/tensor.h"
