// Models of a few thousand weights, large enough weights to make every part matter.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "device/libtorch.h"
#include "device/tensor.h"
#include "model/gpt.h"

namespace alibi {

inline constexpr std::int64_t kTinyVocabulary = 67;
inline const std::vector<Position> kAllPositions = all_positions();

inline ModelConfig tiny_config(Position position) {
  ModelConfig model;
  model.layers = 2;
  model.width = 32;
  model.heads = 4;
  model.position = position;
  if (position_method(position).has_table) model.max_sequence_length = 256;
  model.t5_buckets = 8;
  model.t5_max_distance = 32;
  model.fire_threshold = 9.5;
  return model;
}

// Every part that can be switched on, switched on.
inline ModelConfig rich_config(Position position) {
  ModelConfig model = tiny_config(position);
  model.key_value_heads = 2;
  model.mlp_width = 48;
  model.tied_head = false;
  model.attention_bias = model.mlp_bias = model.norm_bias = model.embedding_norm = true;
  model.activation = Activation::kGeluTanh;
  model.learned_slopes = position == Position::kAlibi;
  model.t5_shared = false;
  model.scalable_softmax = true;
  model.embedding_dropout = 0.1;
  model.attention_dropout = 0.2;
  model.residual_dropout = 0.15;
  model.mlp_dropout = 0.05;
  return model;
}

inline Gpt tiny_model(const ModelConfig& config, torch::ScalarType type = torch::kFloat) {
  auto model = std::make_shared<GptImpl>(config, kTinyVocabulary, type);
  model->initialize(3, 0.2);
  const torch::NoGradGuard guard;
  for (auto& parameter : model->named_parameters())  // gates that half open forget all at once
    if (parameter.key().starts_with("forget_bias")) parameter.value().fill_(5);
  return model;
}

inline torch::Tensor tiny_tokens(std::int64_t sequences, std::int64_t length) {
  torch::manual_seed(17);
  return torch::randint(3, kTinyVocabulary, {sequences, length}, torch::kLong);
}

// Logits (B, T, V) without gradients.
inline torch::Tensor tiny_logits(Gpt& model, const torch::Tensor& tokens_BT,
                                 const ForwardOptions& options = {}) {
  const torch::NoGradGuard guard;
  return model->logits(model->hidden(tokens_BT, options));
}

// Logits when the first `start` tokens lie in the cache already and the rest comes in chunks.
inline torch::Tensor in_chunks(Gpt& model, const torch::Tensor& tokens_BT, std::int64_t start,
                               std::int64_t chunk) {
  KeyValueCache cache(model->config().layers);
  ForwardOptions options;
  options.cache = &cache;
  std::vector<torch::Tensor> parts = {tiny_logits(model, tokens_BT.narrow(1, 0, start), options)};
  for (std::int64_t first = start; first < tokens_BT.size(1); first += chunk) {
    const std::int64_t count = std::min(chunk, tokens_BT.size(1) - first);
    parts.push_back(tiny_logits(model, tokens_BT.narrow(1, first, count), options));
  }
  EXPECT_EQ(cache.length(), tokens_BT.size(1));
  return torch::cat(parts, 1);
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kDouble) - b.to(torch::kDouble)).abs().max().item<double>();
}

}  // namespace alibi
