// progress.json: how far a run is, the whole of its state beside tensors.
//
//   {"format_version": 6, "identity": "run hash", "data": "its part for the text", "step": 123,
//    "tokens": 456, "best_validation_loss": 1.25, ...the fields of Progress by name...,
//    "finished": false, "recent_losses": [3.25, 3.5], "recent_gradient_norms": [0.5, 0.75]}
//
// "best_validation_loss" is null while nothing was evaluated: JSON has no infinity. Version 1 had
// neither "rollbacks", "micro_batch_tokens" nor the recent steps, version 2 neither "data",
// "validated_step" nor "threads", version 3 no "skipped_in_a_row", version 4 no "arithmetic",
// version 5 no "arithmetic_revision"; they are read as if they were 0 or empty, "validated_step" as
// if it were "step", "arithmetic_revision" as 1. "train_seconds" is there where run.train_seconds
// has counted them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"

namespace alibi {

// Random state is missing on purpose: it is a function of the run's seed and the step.
struct Progress {
  std::int64_t step = 0;
  std::int64_t tokens = 0;
  double best_validation_loss = std::numeric_limits<double>::infinity();  // infinity: none yet
  std::int64_t best_step = 0;  // meaningless while there is no best loss
  std::int64_t evaluations_without_improvement = 0;
  std::int64_t skipped_steps = 0;  // steps that left the weights as they were
  std::int64_t skipped_in_a_row = 0;
  std::int64_t rollbacks = 0;
  std::int64_t micro_batch_tokens = 0;  // lowered by a want of memory; 0: as configured
  std::int64_t validated_step = 0;      // a validation that was due later was cut off by a signal
  std::int64_t threads = 0;             // what the run was computed with; 0: not known
  std::string arithmetic;               // the kernels and the processor it was computed with
  std::int64_t arithmetic_revision = kArithmeticRevision;  // of its last step
  // SHA-256 of what initialize.from gave, where the guard may come back to it; else "".
  std::string start_weights;
  bool finished = false;
  double train_seconds = 0;  // of the budget run.train_seconds, used so far
  // Of the newest judged steps, oldest first (train/optimizer/guard.h).
  std::vector<double> recent_losses, recent_gradient_norms;
  bool operator==(const Progress&) const = default;
};

struct ProgressFile {
  Progress progress;
  std::string identity;   // run hash
  std::string data_hash;  // of tokenizer and token files, a part of that
};

std::string progress_text(const ProgressFile& file);

// Strict: every field there, none else, exact types. Throws Error headed by `place`.
ProgressFile parse_progress(std::string_view text, const std::string& place);

}  // namespace alibi
