#include "train/due.h"

namespace alibi {
namespace {

// Steps until so many tokens are trained on.
std::int64_t steps_for(const Config& config, std::int64_t tokens) {
  const std::int64_t step_tokens = batch_shape(config.batch).tokens();
  return (tokens + step_tokens - 1) / step_tokens;
}

}  // namespace

std::int64_t total_steps(const Config& config) {
  return steps_for(config, *config.run.train_tokens);
}

bool is_out_of_patience(const Config& config, const Progress& progress) {
  return config.run.patience > 0 && progress.evaluations_without_improvement >= config.run.patience;
}

bool is_due(std::int64_t every_tokens, std::int64_t before, std::int64_t now) {
  return now / every_tokens > before / every_tokens;
}

bool LoggedSteps::takes(const StepRecord& step) {
  const std::int64_t every = config_.run.log_every_tokens;
  const std::int64_t before = step.tokens - batch_shape(config_.batch).tokens();
  held_.reset();
  if (every == 0 || !step.skipped.empty() || step.step >= total_steps(config_) ||
      is_due(every, before, step.tokens))
    return true;
  held_ = step;
  return false;
}

std::int64_t newest_due_save(const Config& config, std::int64_t tokens) {
  const std::int64_t every = *config.run.save_every_tokens;
  return steps_for(config, tokens / every * every);
}

}  // namespace alibi
