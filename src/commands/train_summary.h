// What a training run says at its start and end.
#pragma once

#include <optional>
#include <string>

#include "base/json/value.h"
#include "config/config.h"
#include "data/prepare.h"
#include "model/gpt.h"
#include "train/trainer.h"

namespace alibi {

struct TrainPlan {
  std::int64_t steps = 0;
  std::int64_t tokens_per_step = 0;
  double gemm_rate = 0;  // FLOP/s measured at start
  double operations_per_token = 0;
  std::int64_t parameters = 0;
  std::int64_t micro_batch_tokens = 0;
  int ranks = 1;
  std::optional<double> deadline = {};  // seconds_now() at which run.train_seconds are over
};

TrainPlan plan_training(const Config& config, Trainer& trainer, const TrainerParts& parts);

// Parameters, batch shape before and after scaling, device, kernel, and the memory estimate.
std::string start_summary(const Config& config, const PreparedText& text, const GptImpl& model,
                          const TrainPlan& plan, torch::Device device);

// How far it came.
struct TrainEnd {
  const Config& config;
  const Progress& progress;
  const SplitStatistics& valid;  // of all held-out text
  bool valid_prompts;            // of which some is read but is no target
  double seconds;                // of training, since this start
  std::int64_t memory;           // peak, bytes
  int signal;                    // what stopped it, or 0
};
std::string end_summary(const TrainEnd& end);
Json end_document(const TrainEnd& end);

}  // namespace alibi
