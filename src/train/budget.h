// A run with a budget of wall time (run.train_seconds): how many tokens fit into it, and when it
// must end. Text is prepared before the clock runs.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.h"

namespace alibi {

// Seconds that parts of a run take: a step and a validation as measured, a checkpoint by the size
// of the model, or as measured where that takes longer.
struct Pace {
  double step = 0, validation = 0, save = 0;
  double start = 0;  // from building the model to the first step
};

// The middle one of the last five: one that was held up, by a process that was stopped or a slow
// disk, says nothing of the next.
class RecentSeconds {
 public:
  double add(double seconds);  // returns the middle one

 private:
  std::vector<double> last_;
};

// The faster quarter of a probe's steps (one at least; order does not matter). Rather too fast than
// too slow: then the deadline ends the run, with little of its schedule left, where seconds would
// be left.
double planned_step(std::vector<double> steps);

// The longest that writing a checkpoint of a model with so many parameters may be expected to take.
double save_seconds(std::int64_t parameters);

// How many validations a run of `seconds` has where run.evaluate_every_tokens is not given: as
// others, or fewer, so that they take a quarter of the time at most; one at least.
std::int64_t validations_within(const Pace& pace, double seconds);

// The tokens of as many whole steps, one at least, as fit with their validations and the last
// checkpoint into `seconds`.
std::int64_t tokens_within(const Config& config, const Pace& pace, double seconds);

}  // namespace alibi
