#include "train/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace alibi {
namespace {

// Share of the peak after `progress` (0 ... 1) of the fall.
double fall(ScheduleKind kind, double progress, double final_fraction) {
  if (kind == ScheduleKind::kConstant) return 1.0;
  const double shape = kind == ScheduleKind::kCosine
                           ? 0.5 * (1.0 + std::cos(std::numbers::pi * progress))
                           : 1.0 - progress;
  return final_fraction + (1.0 - final_fraction) * shape;
}

}  // namespace

double learning_rate(const ScheduleConfig& config, double peak, std::int64_t train_tokens,
                     std::int64_t tokens_seen) {
  const auto seen = static_cast<double>(tokens_seen);
  const auto warmup = static_cast<double>(config.warmup_tokens);
  const auto end = static_cast<double>(train_tokens);
  if (seen < warmup) return peak * seen / warmup;
  double start = warmup;
  if (config.kind == ScheduleKind::kWsd)
    start = end - static_cast<double>(config.decay_tokens.value_or(0));
  const double progress = end > start ? std::clamp((seen - start) / (end - start), 0.0, 1.0) : 1.0;
  return peak * fall(config.kind, progress, config.final_fraction);
}

}  // namespace alibi
