// What a run's log.jsonl says, for pages and other programs.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

inline constexpr double kUnknownFigure = std::numeric_limits<double>::quiet_NaN();

struct LoggedStep {
  std::int64_t step = 0, tokens = 0;
  double loss = kUnknownFigure, learning_rate = kUnknownFigure, gradient_norm = kUnknownFigure;
  double tokens_per_second = kUnknownFigure;
  std::string skipped;  // why it did not reach the weights
};

struct LoggedValidation {
  std::int64_t step = 0, tokens = 0;
  double loss = kUnknownFigure, peak_memory_bytes = kUnknownFigure;
};

struct RunLog {
  std::vector<LoggedStep> steps;
  std::vector<LoggedValidation> validations;
};

// Lines that are torn or of another kind are left out.
RunLog parse_run_log(std::string_view text);

// A line a step, comma separated, with a heading; a validation stands in the line of its step.
std::string run_csv(const RunLog& log);

// How many of a log's steps and validations were told before.
struct ToldLines {
  std::size_t steps = 0, validations = 0;
};

// The scalars of what comes behind those as records of TensorBoard (report/event_file.h):
// train/loss, train/learning_rate, train/gradient_norm, train/tokens_per_second, valid/loss,
// valid/perplexity, memory/peak_bytes.
std::string run_event_records(const RunLog& log, const ToldLines& told, double wall_time);

}  // namespace alibi
