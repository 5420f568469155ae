// The keys of the model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/enum_names.h"

namespace alibi {

enum class Position { kAlibi, kSinusoidal, kLearned, kRotary, kT5, kNone };
constexpr auto enum_names(Position) {
  return std::array{"alibi", "sinusoidal", "learned", "rotary", "t5", "none"};
}
enum class SlopeRule { kPress, kGeometric, kEqual, kExponential };
constexpr auto enum_names(SlopeRule) {
  return std::array{"press", "geometric", "equal", "exponential"};
}
enum class Activation { kGelu, kGeluTanh };
constexpr auto enum_names(Activation) { return std::array{"gelu", "gelu_tanh"}; }

struct ModelConfig {
  std::int64_t layers = 6;
  std::int64_t width = 256;
  std::int64_t heads = 8;
  std::optional<std::int64_t> key_value_heads;  // heads
  std::optional<std::int64_t> mlp_width;        // 4 * width
  Position position = Position::kAlibi;
  std::optional<std::int64_t>
      max_sequence_length;  // learned positions: trained length; else refused
  SlopeRule slope_rule = SlopeRule::kPress;
  double slope_bias_max = 8;
  std::int64_t slope_seed = 0;               // of the exponential rule
  std::optional<std::int64_t> biased_heads;  // all heads
  std::vector<double> slopes;                // empty: by rule
  bool learned_slopes = false;
  double rotary_base = 10000;
  std::int64_t t5_buckets = 32;
  std::int64_t t5_max_distance = 128;
  bool t5_shared = true;
  bool tied_head = true;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool norm_bias = false;
  bool embedding_norm = false;
  std::optional<double> attention_scale;  // 1 / sqrt(head width)
  Activation activation = Activation::kGelu;
  double norm_epsilon = 1e-5;
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double residual_dropout = 0;
  double mlp_dropout = 0;
  bool causal = true;  // false is refused: the bias is defined for past keys only
};

}  // namespace alibi
