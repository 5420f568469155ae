// Names and shapes of a model's parameters without the model: what can be said of one that does not
// fit into memory. A test holds it against GptImpl for every position method.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"

namespace alibi {

struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::int64_t count() const;
  bool operator==(const ParameterShape&) const = default;
};

// In the order of named_parameters(). `model` is resolved.
std::vector<ParameterShape> parameter_shapes(const ModelConfig& model, std::int64_t vocabulary);

}  // namespace alibi
