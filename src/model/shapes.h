// Names and shapes of a model's parameters without the model: what can be said of one that does not
// fit into memory. A test holds it against GptImpl for every position method.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.h"

namespace alibi {

// In the order of named_parameters(). `model` is resolved.
std::vector<ParameterShape> parameter_shapes(const ModelConfig& model, std::int64_t vocabulary);

}  // namespace alibi
