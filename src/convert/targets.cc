#include "convert/targets.h"

#include <cmath>

#include "base/strings.h"
#include "model/position.h"

namespace alibi {
namespace {

using Phrases = std::vector<std::string>;

// Their slopes are fp32 powers of two: equal to ours but for rounding.
bool has_press_slopes(const ModelConfig& m, double bias_max) {
  if (m.position != Position::kAlibi || m.learned_slopes) return false;
  const std::vector<double> ours = alibi_slopes(m);
  const std::vector<double> theirs = slopes_by_rule(SlopeRule::kPress, m.heads, bias_max);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (std::abs(ours[i] - theirs[i]) > 1e-6 * theirs[i]) return false;
  }
  return true;
}

void need(Phrases& found, bool holds, const std::string& phrase) {
  if (!holds) found.push_back(phrase);
}

void need_alibi(Phrases& found, const ModelConfig& m) {
  if (m.position != Position::kAlibi) {
    need(found, false,
         cat("model.position ", name_of(m.position), ": it knows linear biases only"));
  } else {
    need(found, has_press_slopes(m, 8),
         "slopes: it computes its own, those of model.slope_rule press with slope_bias_max 8");
  }
}

void need_plain_attention(Phrases& found, const ModelConfig& m) {
  need(found, m.key_value_heads.value_or(m.heads) == m.heads,
       "model.key_value_heads: it has one key and value head for each query head");
  need(found, m.mlp_width.value_or(4 * m.width) == 4 * m.width,
       "model.mlp_width: its MLP has four times the width");
}

Phrases mpt_obstacles(const ModelConfig& m) {
  Phrases found;
  need_alibi(found, m);
  need_plain_attention(found, m);
  need(found, !m.attention_bias, "model.attention_bias: it has no biases");
  need(found, !m.mlp_bias, "model.mlp_bias: it has no biases");
  need(found, !m.norm_bias, "model.norm_bias: it has no biases");
  need(found, !m.embedding_norm, "model.embedding_norm: it has no norm there");
  need(found, m.activation == Activation::kGelu, "model.activation gelu_tanh: its GELU is exact");
  return found;
}

Phrases bloom_obstacles(const ModelConfig& m) {
  Phrases found;
  need_alibi(found, m);
  need_plain_attention(found, m);
  need(found, m.attention_bias && m.mlp_bias && m.norm_bias,
       "model.attention_bias, mlp_bias and norm_bias: it has all three");
  need(found, m.embedding_norm, "model.embedding_norm false: it has one");
  need(found, m.activation == Activation::kGeluTanh,
       "model.activation gelu: its GELU is the tanh form");
  need(found, has_usual_scale(m), "model.attention_scale: it scales by 1 / sqrt(head width)");
  return found;
}

Phrases gguf_obstacles(const ModelConfig& m) {
  Phrases found;
  const bool table = m.position == Position::kLearned || m.position == Position::kNone;
  if (m.position != Position::kAlibi && !table) {
    need(found, false,
         cat("model.position ", name_of(m.position),
             ": llama.cpp's mpt knows linear biases and learned positions only"));
  } else if (!table) {
    need(found, has_press_slopes(m, m.slope_bias_max),
         "slopes: llama.cpp computes its own, those of model.slope_rule press");
  }
  need(found, !m.embedding_norm, "model.embedding_norm: llama.cpp's mpt has no norm there");
  need(found, has_usual_scale(m), "model.attention_scale: it scales by 1 / sqrt(head width)");
  return found;
}

}  // namespace

bool has_usual_scale(const ModelConfig& m) {
  const double usual = 1 / std::sqrt(static_cast<double>(m.width / m.heads));
  return std::abs(m.attention_scale.value_or(usual) - usual) <= 1e-9 * usual;
}

std::vector<std::string> obstacles(Dialect target, const ModelConfig& model) {
  switch (target) {
    case Dialect::kMpt:
      return mpt_obstacles(model);
    case Dialect::kBloom:
      return bloom_obstacles(model);
    case Dialect::kGpt2:
      return {"all of it: such folders are read, not written"};
    case Dialect::kGguf:
      return gguf_obstacles(model);
    case Dialect::kOwn:
      return {};
  }
  return {};
}

}  // namespace alibi
