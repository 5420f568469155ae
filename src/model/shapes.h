// Names and shapes of a model's parameters, from which GptImpl is built; also for models that do
// not fit into memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"

namespace alibi {

// Of scalable softmax, (heads).
std::string softmax_scale_name(std::int64_t layer);

// Rows of each of the matrices that a weight matrix of a block stacks: queries, keys and values
// ("block_0.qkv.weight"; "block_0.qv.weight" where queries are keys), or the one that it is. Empty:
// the parameter is no such matrix.
std::vector<std::int64_t> stacked_rows(const ParameterShape& parameter);

// Weights of the blocks that multiply each token, without the head: tables of positions are looked
// up, and norms and biases hardly count.
std::int64_t multiplied_weights(const ModelConfig& model, std::int64_t vocabulary);

// Operations of forward and backward for one token of sequences of `length`: 6 for each weight that
// multiplies it, and 6 layers T C of attention.
struct TokenOperations {
  double linear, head, attention;
};
TokenOperations token_operations(const ModelConfig& model, std::int64_t vocabulary,
                                 std::int64_t length);

std::string shape_text(std::span<const std::int64_t> sizes);  // "512 x 128", "scalar"

// In the order of named_parameters(). `model` is resolved.
std::vector<ParameterShape> parameter_shapes(const ModelConfig& model, std::int64_t vocabulary);

}  // namespace alibi
