// How other programs name and lay out the tensors of a model of ours: one table for each dialect,
// used in both directions.
//
//   mpt    transformers' MPT: [out, in] weights, q, k, v rows one after another - ours
//   bloom  transformers' BLOOM: q, k, v of each head together, (head, 3, head width) rows
//   gpt2   transformers' GPT-2: weights as [in, out]
//   gguf   llama.cpp's "mpt": as ours
//   own    this program's own modelling file (convert/custom_code.h): as ours
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "convert/dialect.h"
#include "device/tensor.h"

namespace alibi {

enum class TensorLayout { kSame, kTransposed, kHeadsTogether };

struct TensorName {
  std::string ours, theirs;
  TensorLayout layout = TensorLayout::kSame;
};

// Of every parameter of `model`, in the order of parameter_shapes(). A parameter the dialect has no
// name for must have been refused before.
std::vector<TensorName> tensor_names(Dialect dialect, const ModelConfig& model);

// A contiguous tensor in the other's layout; `heads` is the model's. Weights and biases.
torch::Tensor to_layout(const torch::Tensor& ours, TensorLayout layout, std::int64_t heads);
torch::Tensor from_layout(const torch::Tensor& theirs, TensorLayout layout, std::int64_t heads);

}  // namespace alibi
