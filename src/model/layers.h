// The layers of a GPT (model/gpt.h). Weights are fp32 masters; products run in the input's type.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "base/random.h"
#include "config/config.h"
#include "device/tensor.h"
#include "model/layer_norm.h"
#include "model/linear/linear_products.h"

namespace alibi {

struct AffineImpl {
  // `packs`: products of bf16 on packed weights, where these can be.
  AffineImpl(const torch::Tensor& weight, const torch::Tensor& bias, bool packs = true)
      : weight_OI(weight), bias_O(bias), packs_(packs) {}
  torch::Tensor forward(const torch::Tensor& x);  // (..., I) -> (..., O) in x's type
  // base + forward(x), in one pass where products are packed. base is undefined or in x's type.
  torch::Tensor add_to(const torch::Tensor& base, const torch::Tensor& x);
  bool packs_for(torch::ScalarType type) const;
  // The packed products of the weight as it is, for x of this type; null where they are not packed.
  SharedProducts packed_for(const torch::Tensor& x);
  torch::Tensor weight_OI, bias_O;  // bias_O undefined without bias

 private:
  // Packed, or of a device's weight in x's type; null where LibTorch's operators do all.
  SharedProducts products_for(const torch::Tensor& x);
  bool packs_;
  SharedProducts products_;  // of the weight as it was last used
};
using Affine = std::shared_ptr<AffineImpl>;

struct NormImpl {
  torch::Tensor forward(const torch::Tensor& x) { return layer_norm(x, parts()); }
  NormFork fork(const torch::Tensor& x) { return fork_norm(x, parts()); }
  LayerNorm parts() const { return {weight_C, bias_C, epsilon}; }
  torch::Tensor weight_C, bias_C;  // bias_C undefined without bias
  double epsilon;
};
using Norm = std::shared_ptr<NormImpl>;

// base (or nothing, if undefined) + down(activation(up(x))), in one go where it can be.
torch::Tensor mlp(AffineImpl& up, AffineImpl& down, Activation activation,
                  const torch::Tensor& base, const torch::Tensor& x);

// Of x's shape and type, differentiable. Exact GELU of bf16 on a CPU goes through
// kernels/row_ops.h where the processor can, all else through LibTorch.
torch::Tensor activate(const torch::Tensor& x, Activation activation);

// x with each element zeroed with probability p and the others divided by 1 - p; x itself when p is
// 0. The mask is a pure function of the key: the same for any thread count, and after a resume. x
// are the rows `first` and on of what is masked: it may be taken in pieces.
torch::Tensor dropout(const torch::Tensor& x, double p, RandomKey key, std::int64_t first = 0);

std::int64_t head_width(const ModelConfig& model);
std::int64_t key_value_heads(const ModelConfig& model);

struct BlockImpl {
  Norm norm_1, norm_2;
  Affine qkv, out, up, down;
};

using TensorFunction = std::function<torch::Tensor(const torch::Tensor&)>;

// f(x), of which only x is kept. x needs a gradient; parameters that f uses get theirs while the
// backward pass calls f again. f must be the same function then: its random masks come from a key.
torch::Tensor recomputed(const torch::Tensor& x, TensorFunction f);

// Calls f(first, count) for 0 .. rows - 1 in pieces of `chunk` rows; 0: in one.
template <class Function>
void for_row_chunks(std::int64_t rows, std::int64_t chunk, const Function& f) {
  if (chunk == 0) chunk = rows;
  for (std::int64_t first = 0; first < rows; first += chunk)
    f(first, std::min(chunk, rows - first));
}

// f of rows `first` and on; each row by itself.
using RowFunction = std::function<torch::Tensor(const torch::Tensor& x_RC, std::int64_t first)>;

// f(x_NC, 0) from pieces of `chunk` rows, each recomputed (0: in one, not recomputed): what f keeps
// is of one piece at a time (Reformer, Kitaev et al. 2020, section 3: chunking).
torch::Tensor by_row_chunks(const torch::Tensor& x_NC, std::int64_t chunk, const RowFunction& f);

}  // namespace alibi
