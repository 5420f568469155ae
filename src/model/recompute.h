// Activations given up after the forward pass and computed again for the backward pass (Chen et al.
// 2016, "Training Deep Nets with Sublinear Memory Cost").
#pragma once

#include <functional>

#include "device/tensor.h"

namespace alibi {

using TensorFunction = std::function<torch::Tensor(const torch::Tensor&)>;

// f(x), of which only x is kept. x needs a gradient; parameters that f uses get theirs while the
// backward pass calls f again. f must be the same function then: its random masks come from a key.
torch::Tensor recomputed(const torch::Tensor& x, TensorFunction f);

}  // namespace alibi
