// Reads the next step's batch while the step before it is computed, so that a slow disk is waited
// for only where it is slower than the step.
#pragma once

#include <cstdint>
#include <functional>

#include "base/background.h"
#include "data/batches.h"

namespace alibi {

class BatchLoader {
 public:
  using Read = std::function<Batch(std::int64_t step)>;

  // `read` is called by one thread at a time, the caller's or another.
  explicit BatchLoader(Read read) : read_(std::move(read)) {}

  // The batch of `step`, and starts on the one after it. Steps may come in any order; one that was
  // not foreseen is read at once. Throws what `read` threw.
  Batch take(std::int64_t step);

 private:
  Read read_;
  std::int64_t next_step_ = -1;
  Batch next_;
  BackgroundWork work_;  // last: its thread fills the batch above
};

}  // namespace alibi
