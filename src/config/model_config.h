// The keys of the model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.h"
#include "config/position/methods.h"

namespace alibi {

enum class Activation { kGelu, kGeluTanh };
constexpr auto enum_names(Activation) { return std::array{"gelu", "gelu_tanh"}; }

struct ModelConfig : PositionKeys {
  std::int64_t layers = 6;
  std::int64_t width = 256;
  std::int64_t heads = 8;
  std::optional<std::int64_t> key_value_heads;  // heads
  std::optional<std::int64_t> mlp_width;        // 4 * width
  bool reversible = false;                      // model/reversible.h
  bool tied_head = true;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool norm_bias = false;
  bool embedding_norm = false;
  std::optional<double> attention_scale;  // 1 / sqrt(head width)
  bool scalable_softmax = false;
  Activation activation = Activation::kGelu;
  double norm_epsilon = 1e-5;
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double residual_dropout = 0;
  double mlp_dropout = 0;
  std::vector<std::string> attention_pattern;  // config/key_pattern.h; empty: all keys
  bool causal = true;  // false is refused: the bias is defined for past keys only
};

}  // namespace alibi
