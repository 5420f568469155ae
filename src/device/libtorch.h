// LibTorch as this program needs it. Its own torch/torch.h brings all layers, optimizers and data
// loaders, too, and every file that is compiled pays for them.
#pragma once

#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
