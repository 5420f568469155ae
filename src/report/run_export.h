// A run's records for other programs: a table and TensorBoard's events.
#pragma once

#include <cstddef>
#include <string>

#include "records/run_log.h"

namespace alibi {

// A line a step, comma separated, with a heading; a validation is in the line of its step.
std::string run_csv(const RunLog& log);

// How many of a log's steps and validations were exported before.
struct ExportedCounts {
  std::size_t steps = 0, validations = 0;
};

// The scalars of what comes behind those as records of TensorBoard (report/event_file.h):
// train/loss, train/learning_rate, train/gradient_norm, train/tokens_per_second, valid/loss,
// valid/perplexity, memory/peak_bytes.
std::string run_event_records(const RunLog& log, const ExportedCounts& exported, double wall_time);

}  // namespace alibi
