// Norm of all gradients together, and scaling them down to a limit.
#pragma once

#include <vector>

#include "device/tensor.h"

namespace alibi {

// Square root of the sum of squares over all gradients, summed in fp64; parameters without one
// count 0.
double gradient_norm(const std::vector<torch::Tensor>& parameters);

// Multiplies every gradient by limit / norm when norm exceeds limit > 0.
void clip_gradients(const std::vector<torch::Tensor>& parameters, double norm, double limit);

}  // namespace alibi
