#include "model/shapes.h"

#include "base/strings.h"
#include "config/key_pattern.h"

namespace alibi {
namespace {

using Shapes = std::vector<ParameterShape>;

void add_affine(Shapes& all, const std::string& name, std::int64_t inputs, std::int64_t outputs,
                bool has_bias) {
  all.push_back({name + ".weight", {outputs, inputs}});
  if (has_bias) all.push_back({name + ".bias", {outputs}});
}

void add_norm(Shapes& all, const std::string& name, const ModelConfig& m) {
  all.push_back({name + ".weight", {m.width}});
  if (m.norm_bias) all.push_back({name + ".bias", {m.width}});
}

void add_block(Shapes& all, const std::string& name, const ModelConfig& m, bool queries_are_keys) {
  const std::int64_t pairs = (queries_are_keys ? 1 : 2) * m.key_value_heads.value_or(m.heads);
  const std::int64_t mlp_width = m.mlp_width.value_or(4 * m.width);
  add_norm(all, name + ".norm_1", m);
  add_affine(all, name + (queries_are_keys ? ".qv" : ".qkv"), m.width,
             (m.heads + pairs) * (m.width / m.heads), m.attention_bias);
  add_affine(all, name + ".out", m.width, m.width, m.attention_bias);
  add_norm(all, name + ".norm_2", m);
  add_affine(all, name + ".up", m.width, mlp_width, m.mlp_bias);
  add_affine(all, name + ".down", mlp_width, m.width, m.mlp_bias);
}

}  // namespace

std::string softmax_scale_name(std::int64_t layer) { return cat("softmax_scale_", layer); }

std::vector<std::int64_t> stacked_rows(const ParameterShape& parameter) {
  if (!parameter.name.starts_with("block_") || parameter.sizes.size() != 2) return {};
  const std::int64_t rows = parameter.sizes[0], width = parameter.sizes[1];
  if (parameter.name.ends_with(".qv.weight")) return {width, rows - width};
  if (!parameter.name.ends_with(".qkv.weight")) return {rows};
  const std::int64_t key_rows = (rows - width) / 2;
  return {width, key_rows, key_rows};
}

std::int64_t multiplied_weights(const ModelConfig& m, std::int64_t vocabulary) {
  std::int64_t weights = 0;
  for (const ParameterShape& parameter : parameter_shapes(m, vocabulary)) {
    const bool gate = parameter.name.starts_with("forget_") && parameter.sizes.size() == 2;
    if (gate || !stacked_rows(parameter).empty())
      weights += parameter.sizes[0] * parameter.sizes[1];
  }
  return weights;
}

TokenOperations token_operations(const ModelConfig& m, std::int64_t vocabulary,
                                 std::int64_t length) {
  const auto six = [](std::int64_t products) { return 6 * static_cast<double>(products); };
  return {six(multiplied_weights(m, vocabulary)), six(vocabulary * m.width),
          six(m.layers * length * m.width)};
}

std::string shape_text(std::span<const std::int64_t> sizes) {
  std::vector<std::string> texts;
  for (const std::int64_t size : sizes) texts.push_back(cat(size));
  return texts.empty() ? "scalar" : join(texts, " x ");
}

std::vector<ParameterShape> parameter_shapes(const ModelConfig& m, std::int64_t vocabulary) {
  Shapes all = {{"embedding", {vocabulary, m.width}}};
  if (const auto of_positions = position_method(m.position).parameters)
    for (ParameterShape& parameter : of_positions(m)) all.push_back(std::move(parameter));
  for (std::int64_t i = 0; m.scalable_softmax && i < m.layers; ++i)
    all.push_back({softmax_scale_name(i), {m.heads}});
  if (!m.tied_head) all.push_back({"head", {vocabulary, m.width}});
  if (m.embedding_norm) add_norm(all, "embedding_norm", m);
  for (std::int64_t i = 0; i < m.layers; ++i)
    add_block(all, cat("block_", i), m, hashes_keys(m, i));
  add_norm(all, "norm", m);
  return all;
}

}  // namespace alibi
