// Learning rate as a pure function of the tokens seen; a plot of it needs no run.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace alibi {

// Rate for the step after which `tokens_seen` of `train_tokens` tokens are seen: the first step
// already moves, the last one runs at the final fraction. `config` is resolved.
double learning_rate(const ScheduleConfig& config, double peak, std::int64_t train_tokens,
                     std::int64_t tokens_seen);

}  // namespace alibi
