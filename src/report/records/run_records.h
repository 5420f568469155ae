// What happens in a training run: a record for each thing, made once by the trainer. Those with a
// list of fields are lines of log.jsonl (report/records/run_log.h).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json/record.h"

namespace alibi {

inline constexpr double kUnknownFigure = std::numeric_limits<double>::quiet_NaN();

struct StepRecord {
  std::int64_t step = 0;         // finished steps
  std::int64_t tokens = 0;       // trained on so far
  double loss = kUnknownFigure;  // cross-entropy, nats per token, mean over the step
  double learning_rate = kUnknownFigure;
  double gradient_norm = kUnknownFigure;  // before clipping
  double seconds = kUnknownFigure;
  // Of a step that did not reach the weights:
  std::string skipped = {};                      // why
  std::vector<std::int64_t> window_starts = {};  // of its batch, in the text
  bool ends_run = false;                         // the guard stops the run at it; not logged
  // Of one that was rolled back: the weights are those of this step again, and the first and the
  // last step whose batches are left out.
  std::optional<std::int64_t> rolled_back_to = {};
  std::vector<std::int64_t> left_out_steps = {};
};

template <class Fields>
void fields(Fields& f, StepRecord& r) {
  f("step", r.step);
  f("tokens", r.tokens);
  f("loss", r.loss, {.words = true});
  f("learning_rate", r.learning_rate, {.words = true});
  f("gradient_norm", r.gradient_norm, {.words = true});
  f("seconds", r.seconds, {.words = true});
  f.or_absent("skipped", r.skipped, !r.skipped.empty());
  f.or_absent("window_starts", r.window_starts, !r.window_starts.empty());
  f.or_absent("rolled_back_to", r.rolled_back_to, r.rolled_back_to.has_value());
  f.or_absent("left_out_steps", r.left_out_steps, !r.left_out_steps.empty());
}

// kUnknownFigure for a step without a time.
inline double tokens_per_second(const StepRecord& r) {
  if (!(r.seconds > 0) || r.step <= 0) return kUnknownFigure;
  return static_cast<double>(r.tokens) / static_cast<double>(r.step) / r.seconds;
}

struct ValidationRecord {
  std::int64_t step = 0, tokens = 0;
  double validation_loss = kUnknownFigure;
  bool best = false;
  std::optional<std::int64_t> peak_memory_bytes = {};
};

template <class Fields>
void fields(Fields& f, ValidationRecord& r) {
  f("step", r.step);
  f("tokens", r.tokens);
  f("validation_loss", r.validation_loss, {.words = true});
  f("best", r.best);
  f.or_absent("peak_memory_bytes", r.peak_memory_bytes, r.peak_memory_bytes.has_value());
}

// What --resume changed: a config key with another value, or the processor or kernel.
struct ChangeRecord {
  std::int64_t step = 0;  // the first that it holds for
  std::string changed;    // "/optimizer/learning_rate: 0.0005, was 0.001"
};

template <class Fields>
void fields(Fields& f, ChangeRecord& r) {
  f("step", r.step);
  f("changed", r.changed);
}

// Memory ran out: the step was done again in smaller parts.
struct MicroBatchRecord {
  std::int64_t step = 0;
  std::int64_t tokens = 0;  // of a micro batch from here on
};

// The checkpoint is committed; with run.save_in_background some steps later.
struct SaveRecord {
  std::int64_t step = 0;
  std::string folder;
};

// guard.failed_save or guard.non_finite let the run go on.
struct SaveFailure {
  std::string problem;
};

// The run has come to its end; no step follows.
struct EndRecord {};

using Event = std::variant<StepRecord, ValidationRecord, ChangeRecord, MicroBatchRecord, SaveRecord,
                           SaveFailure, EndRecord>;

}  // namespace alibi
