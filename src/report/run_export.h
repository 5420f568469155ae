// A run's records for other programs: a table and TensorBoard's events.
#pragma once

#include <cstdint>
#include <string>

#include "report/records/run_records.h"

namespace alibi {

// Comma separated values with a heading, a line a step, as text to append to a file. A validation
// is in the line of its step, where that comes before it.
class RunCsv {
 public:
  void add(const StepRecord& step);
  void add(const ValidationRecord& validation);
  // What was added since the last call. Without `all` the newest line is kept back: the validation
  // of its step may follow.
  std::string take(bool all);

 private:
  struct Line {
    std::int64_t number = -1, tokens = 0;  // -1: none
    StepRecord step;
    ValidationRecord validation;
  };
  void open(std::int64_t number, std::int64_t tokens);
  void close();

  std::string text_ =
      "step,tokens,loss,learning_rate,gradient_norm,tokens_per_second,validation_loss,"
      "peak_memory_bytes,skipped\n";
  Line line_;
};

// Scalars of TensorBoard (report/event_file.h): train/loss, train/learning_rate,
// train/gradient_norm, train/tokens_per_second of a step, valid/loss, valid/perplexity,
// memory/peak_bytes of a validation.
std::string event_record(const StepRecord& step, double wall_time);
std::string event_record(const ValidationRecord& validation, double wall_time);

}  // namespace alibi
