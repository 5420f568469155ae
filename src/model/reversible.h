// Residual layers without stored activations (Gomez et al. 2017; Reformer, Kitaev et al. 2020,
// section 3): of two streams each layer changes one by a function of the other,
//
//   y1 = x1 + f(x2);   y2 = x2 + g(y1)
//
// so that the backward pass recomputes its inputs from its outputs,
//
//   x2 = y2 - g(y1);   x1 = y1 - f(x2)
//
// Both streams begin as the same x, in fp32 (fp64 for fp64): rounding of sums is all by which a
// recomputed input differs. The result is their mean.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layers.h"

namespace alibi {

struct ReversibleLayer {
  TensorFunction f;  // attention: (B, T, C) -> (B, T, C)
  RowFunction g;     // an MLP on rows of N = B T
};

enum class Activations { kStored, kRecomputed };

// x (B, T, C) -> (B, T, C) fp32. g is called for at most chunk_rows rows at a time; 0: for all.
// With kRecomputed memory does not grow with the number of layers; x needs a gradient then, and f
// and g must be the same functions when they are called again: random masks come from a key.
// kStored is the reference, and the way without a gradient.
torch::Tensor reversible_layers(const torch::Tensor& x_BTC, std::vector<ReversibleLayer> layers,
                                Activations activations, std::int64_t chunk_rows);

torch::Tensor mean_of_streams(const torch::Tensor& x1, const torch::Tensor& x2);

}  // namespace alibi
