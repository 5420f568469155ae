// Layers on products of their weights (linear_products.h), with their own backward: weight
// gradients are summed in fp32. x is bf16, weights and biases fp32.
#pragma once

#include "device/libtorch.h"
#include "model/linear/linear_products.h"

namespace alibi {

// A weight as it is used: `products` is of this very weight.
struct AffineProducts {
  torch::Tensor weight_OI, bias_O;  // bias_O may be undefined
  SharedProducts products;
};

// base + x w^T + b: x (..., I), base (..., O) in x's type or undefined.
torch::Tensor linear_layer(const torch::Tensor& base, const torch::Tensor& x,
                           const AffineProducts& layer);

// base + down(gelu(up(x))), exact GELU, on packed products; the sum, GELU and its gradient are
// computed where the products' sums are stored, and cost no pass over memory of their own. The
// activation is not kept: the backward pass makes it again while it packs it.
torch::Tensor packed_mlp(const torch::Tensor& base, const torch::Tensor& x,
                         const AffineProducts& up, const AffineProducts& down);

}  // namespace alibi
