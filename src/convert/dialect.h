// The other programs' models whose tensor names, layouts and keys this program speaks.
#pragma once

#include <array>

#include "base/enum_names.h"

namespace alibi {

enum class Dialect {
  kMpt,    // transformers' MptForCausalLM: bias_max 8, no biases, erf GELU, MLP of 4 widths
  kBloom,  // transformers' BloomForCausalLM: all biases, embedding norm, tanh GELU, 4 widths
  kGpt2,   // transformers' GPT2LMHeadModel: learned positions; read only
  kGguf,   // llama.cpp's "mpt": biases, learned positions and any bias_max too
  kOwn,    // transformers with a modelling file of this program's (convert/targets.h)
};
// For transformers, the model_type of config.json.
constexpr auto enum_names(Dialect) { return std::array{"mpt", "bloom", "gpt2", "gguf", "alibi"}; }

}  // namespace alibi
