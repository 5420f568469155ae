// What each export target can express. The targets read fewer keys than their config files have:
// what they ignore must be refused here, or a model would load and silently be another one.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace alibi {

enum class Target {
  kMpt,    // transformers' MptForCausalLM: bias_max 8, no biases, erf GELU, MLP of 4 widths
  kBloom,  // transformers' BloomForCausalLM: all biases, embedding norm, tanh GELU, 4 widths
  kGguf,   // llama.cpp's "mpt": biases, learned positions and any bias_max too
  kOwn,    // transformers with a modelling file of this program's: everything
};

// Whether scores are scaled by 1 / sqrt(head width), as everybody's are.
bool has_usual_scale(const ModelConfig& model);

// What of the model the target cannot express, a phrase each with the key ("model.activation
// gelu_tanh: ..."); empty: nothing. `model` is resolved.
std::vector<std::string> obstacles(Target target, const ModelConfig& model);

}  // namespace alibi
