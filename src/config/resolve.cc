#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/strings.h"
#include "config/validate.h"

namespace alibi {

BatchShape batch_shape(const BatchConfig& batch) {
  return batch_shape(batch, batch.train_sequence_length_scaling);
}

BatchShape batch_shape(const BatchConfig& batch, double scaling) {
  const auto parts = std::llround(1.0 / scaling);
  ensure(parts >= 1 && batch.sequence_length % parts == 0,
         "the scaling divides the sequence length");
  return {batch.sequences * parts, batch.sequence_length / parts};
}

bool recomputes(const Config& config) {
  return config.model.reversible || config.runtime.recompute == Recompute::kBlocks;
}

bool has_dropout(const ModelConfig& m) {
  return m.embedding_dropout + m.attention_dropout + m.residual_dropout + m.mlp_dropout > 0;
}

std::int64_t lanes_of(const BatchConfig& batch) { return batch.lanes.value_or(1); }

std::int64_t divisor_up_to(std::int64_t rows, std::int64_t wanted) {
  for (std::int64_t count = std::clamp<std::int64_t>(wanted, 1, rows);; --count) {
    if (rows % count == 0) return count;
  }
}

std::int64_t micro_batch_tokens_of(const BatchConfig& batch) {
  const BatchShape shape = batch_shape(batch);
  const std::int64_t wanted = *batch.micro_batch_tokens / shape.length;
  return shape.length * divisor_up_to(shape.rows / lanes_of(batch), wanted);
}

std::optional<std::int64_t> known_train_tokens(const RunConfig& run) {
  if (!run.train_tokens && !run.train_seconds) return 2'000'000;
  return run.train_tokens;
}

std::int64_t default_decay_tokens(std::int64_t train_tokens) {
  return std::max<std::int64_t>(1, train_tokens / 5);
}

void resolve_by_train_tokens(Config& c) {
  const std::int64_t tokens = *c.run.train_tokens;
  const std::int64_t every = std::max<std::int64_t>(1, tokens / kDefaultValidations);
  if (!c.run.save_every_tokens) c.run.save_every_tokens = every;
  if (!c.run.evaluate_every_tokens) c.run.evaluate_every_tokens = every;
  if (c.schedule.kind == ScheduleKind::kWsd && !c.schedule.decay_tokens)
    c.schedule.decay_tokens = default_decay_tokens(tokens);
}

void resolve(Config& c) {
  ModelConfig& m = c.model;
  if (!m.key_value_heads) m.key_value_heads = m.heads;
  if (!m.mlp_width) m.mlp_width = 4 * m.width;
  if (!m.attention_scale)
    m.attention_scale = 1.0 / std::sqrt(static_cast<double>(m.width / m.heads));
  if (!c.initialize.standard_deviation)
    c.initialize.standard_deviation = 1.0 / std::sqrt(static_cast<double>(m.width));
  const BatchShape shape = batch_shape(c.batch);
  if (const auto fill = position_method(m.position).resolve) fill(m, shape.length);
  if (!c.batch.micro_batch_tokens) c.batch.micro_batch_tokens = shape.tokens();
  if (c.batch.lanes == 1) c.batch.lanes.reset();  // one name for one thing: part of the identity
  if (c.tokenizer.kind == TokenizerKind::kBytes) c.tokenizer.vocabulary = 259;
  c.run.train_tokens = known_train_tokens(c.run);
  if (c.run.train_tokens) resolve_by_train_tokens(c);
  if (c.run.folder.empty()) c.run.folder = "runs/" + c.run.name;
}

std::vector<std::string> advice(const Config& c) {
  const auto of_position = position_method(c.model.position).advice;
  auto notes = of_position == nullptr ? std::vector<std::string>() : of_position(c);
  if (c.optimizer.updates_matrices() && !c.optimizer.matrix_learning_rate) {
    notes.push_back(cat("the blocks' matrices take optimizer.learning_rate ",
                        c.optimizer.learning_rate,
                        ", for optimizer.matrix_learning_rate is not "
                        "given: 0.005 to 0.024 was best where rates were tried, beside 0.0015 to "
                        "0.006 for all else "
                        "(data/results/optimizers)"));
  }
  return notes;
}

}  // namespace alibi
