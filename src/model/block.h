// The layers of one block of a GPT (model/gpt.h).
#pragma once

#include "config/config.h"
#include "model/layers.h"
#include "model/module.h"

namespace alibi {

std::int64_t head_width(const ModelConfig& model);
std::int64_t key_value_heads(const ModelConfig& model);

struct BlockImpl : Module {
  explicit BlockImpl(const ModelConfig& model);
  Norm norm_1, norm_2;
  Affine qkv, out, up, down;
};

}  // namespace alibi
