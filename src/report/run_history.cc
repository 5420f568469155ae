#include "report/run_history.h"

#include <cmath>

namespace alibi {
namespace {

constexpr std::size_t kMostGroups = 300;

}  // namespace

void ThinnedLine::add(std::int64_t tokens, double value) {
  if (groups_.empty() || groups_.back().records == group_size_) {
    if (groups_.size() == kMostGroups) {
      for (std::size_t i = 0; i < kMostGroups / 2; ++i) {
        const Group &first = groups_[2 * i], &second = groups_[2 * i + 1];
        groups_[i] = {second.tokens, first.records + second.records, first.finite + second.finite,
                      first.sum + second.sum};
      }
      groups_.resize(kMostGroups / 2);
      group_size_ *= 2;
    }
    groups_.emplace_back();
  }
  Group& group = groups_.back();
  group.tokens = tokens;
  ++group.records;
  if (!std::isfinite(value)) return;
  ++group.finite;
  group.sum += value;
}

std::vector<PlotPoint> ThinnedLine::points() const {
  std::vector<PlotPoint> points;
  for (const Group& group : groups_) {
    if (group.finite > 0)
      points.push_back(
          {static_cast<double>(group.tokens), group.sum / static_cast<double>(group.finite)});
  }
  return points;
}

void RunHistory::add(const StepRecord& step) {
  loss.add(step.tokens, step.loss);
  learning_rate.add(step.tokens, step.learning_rate);
  gradient_norm.add(step.tokens, step.gradient_norm);
  tokens_per_second.add(step.tokens, alibi::tokens_per_second(step));
  if (!step.skipped.empty()) ++skipped_steps;
  last_step = step;
}

void RunHistory::add(const ValidationRecord& validation) {
  validation_loss.add(validation.tokens, validation.validation_loss);
  last_validation = validation;
}

}  // namespace alibi
