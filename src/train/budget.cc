#include "train/budget.h"

#include <algorithm>
#include <cmath>

#include "config/validate.h"

namespace alibi {

double RecentSeconds::add(double seconds) {
  constexpr std::size_t kLast = 5;
  last_.push_back(seconds);
  if (last_.size() > kLast) last_.erase(last_.begin());
  std::vector<double> sorted = last_;
  const auto middle = sorted.begin() + (std::ssize(sorted) - 1) / 2;
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

double planned_step(std::vector<double> steps) {
  const auto quarter = steps.begin() + std::ssize(steps) / 4;
  std::ranges::nth_element(steps, quarter);
  return *quarter;
}

double save_seconds(std::int64_t parameters) {
  constexpr double kBytesPerSecond = 300e6, kOpening = 0.2;
  constexpr double kBytesPerParameter = 12;  // weights and two moments
  return kOpening + kBytesPerParameter * static_cast<double>(parameters) / kBytesPerSecond;
}

std::int64_t validations_within(const Pace& pace, double seconds) {
  constexpr double kShare = 0.25;
  if (pace.validation <= 0) return kDefaultValidations;
  const double most = std::floor(kShare * (seconds - pace.start - pace.save) / pace.validation);
  return std::llround(std::clamp(most, 1.0, static_cast<double>(kDefaultValidations)));
}

std::int64_t tokens_within(const Config& config, const Pace& pace, double seconds) {
  const std::int64_t step_tokens = batch_shape(config.batch).tokens();
  const double free = seconds - pace.start - pace.save;
  double steps = 0;
  if (config.run.evaluate_every_tokens) {
    const double steps_each = std::max(1.0, static_cast<double>(*config.run.evaluate_every_tokens) /
                                                static_cast<double>(step_tokens));
    steps = (free - pace.validation) / (pace.step + pace.validation / steps_each);
  } else {
    // A run has no more of them than steps.
    steps = free / (pace.step + pace.validation);
    const auto validations = static_cast<double>(validations_within(pace, seconds));
    if (steps > validations) steps = (free - validations * pace.validation) / pace.step;
  }
  return step_tokens * std::max<std::int64_t>(1, std::llround(std::floor(steps)));
}

}  // namespace alibi
