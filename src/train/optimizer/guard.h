// Judges a step by its loss and gradient norm before it may reach the weights.
//
// Not finite: always judged. A spike: loss or gradient norm lies more than `deviations` standard
// deviations above the mean of the newest steps. What is taken into that window is cut off at that
// limit, so a spike hardly moves it, while a lasting rise is let through after a while; numbers
// that are not finite never enter it. The window is part of a run's progress: a resumed run judges
// as the uninterrupted one.
#pragma once

#include <string>
#include <vector>

#include "config/training_config.h"

namespace alibi {

enum class GuardVerdict { kTake, kSkip, kRollBack, kStop };

struct Judgement {
  GuardVerdict verdict = GuardVerdict::kTake;
  std::string reason;  // "loss nan and gradient norm 3.1, expected finite numbers"; empty: taken
};

// The newest judged steps, oldest first; both lists have one length.
struct RecentSteps {
  std::vector<double>& losses;
  std::vector<double>& gradient_norms;
};

// Judges, and takes the step into `recent` where spikes are looked for.
Judgement judge_step(const GuardConfig& config, double loss, double gradient_norm,
                     RecentSteps recent);

}  // namespace alibi
