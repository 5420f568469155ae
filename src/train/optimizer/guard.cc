#include "train/optimizer/guard.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/strings.h"

namespace alibi {
namespace {

GuardVerdict verdict_on(NonFinite action) {
  switch (action) {
    case NonFinite::kStop:
      return GuardVerdict::kStop;
    case NonFinite::kSkip:
      return GuardVerdict::kSkip;
    case NonFinite::kRollBack:
      return GuardVerdict::kRollBack;
  }
  return GuardVerdict::kStop;
}

GuardVerdict verdict_on(Spikes action) {
  switch (action) {
    case Spikes::kIgnore:
      return GuardVerdict::kTake;
    case Spikes::kStop:
      return GuardVerdict::kStop;
    case Spikes::kSkip:
      return GuardVerdict::kSkip;
    case Spikes::kRollBack:
      return GuardVerdict::kRollBack;
  }
  return GuardVerdict::kStop;
}

// The largest number that is no spike after `recent`; infinity while there are too few.
double spike_limit(const GuardConfig& config, const std::vector<double>& recent) {
  const auto count = static_cast<double>(recent.size());
  if (2 * static_cast<std::int64_t>(recent.size()) < config.spike_window)
    return std::numeric_limits<double>::infinity();
  double mean = 0, variance = 0;
  for (const double x : recent) mean += x / count;
  for (const double x : recent) variance += (x - mean) * (x - mean) / count;
  // On a plateau rounding alone would be a spike: a thousandth of the mean is the least deviation.
  return mean + config.spike_deviations * std::max(std::sqrt(variance), 1e-3 * std::abs(mean));
}

void remember(std::vector<double>& recent, double value, std::int64_t window) {
  recent.push_back(value);
  const auto most = static_cast<std::size_t>(window);
  if (recent.size() > most)
    recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(most));
}

}  // namespace

Judgement judge_step(const GuardConfig& config, double loss, double gradient_norm,
                     RecentSteps recent) {
  if (!std::isfinite(loss) || !std::isfinite(gradient_norm)) {
    return {verdict_on(config.non_finite),
            cat("loss ", significant(loss, 6), " and gradient norm ", significant(gradient_norm, 6),
                ", expected finite numbers")};
  }
  if (config.spikes == Spikes::kIgnore) return {};
  const double most_loss = spike_limit(config, recent.losses);
  const double most_norm = spike_limit(config, recent.gradient_norms);
  const std::size_t compared = recent.losses.size();
  remember(recent.losses, std::min(loss, most_loss), config.spike_window);
  remember(recent.gradient_norms, std::min(gradient_norm, most_norm), config.spike_window);
  if (loss <= most_loss && gradient_norm <= most_norm) return {};
  const bool by_loss = loss > most_loss;
  return {verdict_on(config.spikes),
          cat(by_loss ? "loss " : "gradient norm ", by_loss ? loss : gradient_norm,
              " is a spike, expected at most ", by_loss ? most_loss : most_norm, " (",
              config.spike_deviations, " deviations above the last ", compared, " steps)")};
}

}  // namespace alibi
