// What each export target can express. The targets read fewer keys than their config files have:
// what they ignore must be refused here, or a model would load and silently be another one.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "convert/dialect.h"

namespace alibi {

// Whether scores are scaled by 1 / sqrt(head width), as everybody's are.
bool has_usual_scale(const ModelConfig& model);

// What of the model the target cannot express, a phrase each with the key ("model.activation
// gelu_tanh: ..."); empty: nothing. `model` is resolved.
std::vector<std::string> obstacles(Dialect target, const ModelConfig& model);

}  // namespace alibi
