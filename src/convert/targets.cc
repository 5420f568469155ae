#include "convert/targets.h"

#include <cmath>

#include "base/strings.h"
#include "config/key_pattern.h"

namespace alibi {
namespace {

using Phrases = std::vector<std::string>;

void need(Phrases& found, bool holds, const std::string& phrase) {
  if (!holds) found.push_back(phrase);
}

// `bias_max`: 0 for targets that take any.
void need_press_slopes(Phrases& found, const ModelConfig& m, double bias_max,
                       const std::string& otherwise) {
  const PositionForm form = position_form(m);
  if (form.kind == PositionForm::kPressSlopes && (bias_max == 0 || form.bias_max == bias_max))
    return;
  const bool linear =
      form.kind == PositionForm::kPressSlopes || form.kind == PositionForm::kOtherSlopes;
  need(found, false,
       linear ? cat("slopes: it computes its own, those of model.slope_rule press",
                    bias_max == 0 ? "" : cat(" with slope_bias_max ", bias_max))
              : cat("model.position ", name_of(m.position), ": ", otherwise));
}

void need_alibi(Phrases& found, const ModelConfig& m) {
  need_press_slopes(found, m, 8, "it supports linear biases only");
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
  const PositionForm::Kind form = position_form(m).kind;
  if (form != PositionForm::kTable && form != PositionForm::kNothing)
    need_press_slopes(found, m, 0,
                      "llama.cpp's mpt supports linear biases and learned positions only");
  need(found, !m.embedding_norm, "model.embedding_norm: llama.cpp's mpt has no norm there");
  need(found, has_usual_scale(m), "model.attention_scale: it scales by 1 / sqrt(head width)");
  return found;
}

// But for windows of keys, which no target has.
Phrases target_obstacles(Dialect target, const ModelConfig& model) {
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

}  // namespace

bool has_usual_scale(const ModelConfig& m) {
  const double usual = 1 / std::sqrt(static_cast<double>(m.width / m.heads));
  return std::abs(m.attention_scale.value_or(usual) - usual) <= 1e-9 * usual;
}

std::vector<std::string> obstacles(Dialect target, const ModelConfig& model) {
  Phrases found = target_obstacles(target, model);
  need(found, shows_all_keys(model), "model.attention_pattern: its queries see all earlier keys");
  need(found, !model.reversible, "model.reversible: it has one residual stream");
  need(found, target != Dialect::kOwn || position_method(model.position).python != nullptr,
       cat("model.position ", name_of(model.position),
           ": the modelling file that goes with an export has none"));
  need(found, target == Dialect::kOwn || !model.scalable_softmax,
       "model.scalable_softmax: its scores have one scale at all lengths");
  return found;
}

}  // namespace alibi
