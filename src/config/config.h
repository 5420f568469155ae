// What a run is: plain structs with defaults. Field name = JSON key = --set path = key in the log.
//
// The keys' documentation, ranges and enum names are in fields_*.cc, once; `alibi inspect schema`
// and configs/README.md come from there. nullopt means "not given": the comment says what happens
// then.
#pragma once

#include <cstdint>

#include "config/evaluation_config.h"
#include "config/model_config.h"
#include "config/training_config.h"

namespace alibi {

struct Config {
  ModelConfig model;
  BatchConfig batch;
  DataConfig data;
  TokenizerConfig tokenizer;
  InitializeConfig initialize;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  GuardConfig guard;
  RunConfig run;
  DistributedConfig distributed;
  EvaluateConfig evaluate;
  RuntimeConfig runtime;
};

// The batch a step sees: B / s rows of L * s targets; the same tokens for every s.
struct BatchShape {
  std::int64_t rows;
  std::int64_t length;
  std::int64_t tokens() const { return rows * length; }
};
BatchShape batch_shape(const BatchConfig& batch);  // expects a validated config
BatchShape batch_shape(const BatchConfig& batch, double scaling);
// Training keeps the inputs of blocks only, or of reversible layers nothing.
bool recomputes(const Config& config);
bool has_dropout(const ModelConfig& model);
std::int64_t lanes_of(const BatchConfig& batch);
// The largest number that divides `rows` and is at most `wanted`, at least 1.
std::int64_t divisor_up_to(std::int64_t rows, std::int64_t wanted);
// As configured, or the next smaller whose rows divide those of a lane.
std::int64_t micro_batch_tokens_of(const BatchConfig& batch);

}  // namespace alibi
