// Names and shapes of a model's parameters, from which GptImpl is built; also for models that do
// not fit into memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"

namespace alibi {

// Of scalable softmax, (heads).
std::string softmax_scale_name(std::int64_t layer);

// In the order of named_parameters(). `model` is resolved.
std::vector<ParameterShape> parameter_shapes(const ModelConfig& model, std::int64_t vocabulary);

}  // namespace alibi
