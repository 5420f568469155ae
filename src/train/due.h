// When a run logs, saves and ends: functions of the config and of the tokens trained on.
#pragma once

#include <cstdint>

#include "checkpoint/progress.h"
#include "config/config.h"
#include "report/records/run_records.h"

namespace alibi {

std::int64_t total_steps(const Config& config);

// Whether run.patience ends the run.
bool is_out_of_patience(const Config& config, const Progress& progress);

// Whether a multiple of `every_tokens` lies behind `before` and up to `now`.
bool is_due(std::int64_t every_tokens, std::int64_t before, std::int64_t now);

// Steps are logged when run.log_every_tokens asks for it (0: always), when they did not reach the
// weights, and the last one.
bool is_logged(const Config& config, const StepRecord& step);

// The newest step up to the one after `tokens` at which run.save_every_tokens asked for a
// checkpoint; 0: none yet. Saves for other reasons (a best validation, a signal) come at moments
// that differ between a run and its resumption.
std::int64_t newest_due_save(const Config& config, std::int64_t tokens);

}  // namespace alibi
