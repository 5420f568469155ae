// When a run logs, saves and ends: functions of the config and of the tokens trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "checkpoint/progress.h"
#include "config/config.h"
#include "report/records/run_records.h"

namespace alibi {

std::int64_t total_steps(const Config& config);

// Whether run.patience ends the run.
bool is_out_of_patience(const Config& config, const Progress& progress);

// Whether a multiple of `every_tokens` lies behind `before` and up to `now`.
bool is_due(std::int64_t every_tokens, std::int64_t before, std::int64_t now);

// Which steps are logged: those that run.log_every_tokens asks for (0: all), those that did not
// reach the weights, and the run's last. Which one that is the step itself does not know: a
// deadline or run.patience may end the run behind it. (Where the end is found by a resumed run,
// that step was another process's, and is not logged.)
class LoggedSteps {
 public:
  explicit LoggedSteps(const Config& config) : config_(config) {}  // outlives it
  // Whether it is to be logged now.
  bool takes(const StepRecord& step);
  // At the run's end: the last step, where it is not logged yet.
  std::optional<StepRecord> take_last() { return std::exchange(held_, std::nullopt); }

 private:
  const Config& config_;
  std::optional<StepRecord> held_;
};

// The newest step up to the one after `tokens` at which run.save_every_tokens asked for a
// checkpoint; 0: none yet. Saves for other reasons (a best validation, a signal) come at moments
// that differ between a run and its resumption.
std::int64_t newest_due_save(const Config& config, std::int64_t tokens);

}  // namespace alibi
