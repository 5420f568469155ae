// Rules over several keys, and the values that follow from others.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

namespace alibi {

struct ConfigFault {
  std::string pointer;  // "/model/heads"
  std::string problem;  // found and expected
  std::string way_out;
};

// Everything wrong with a config whose keys are each in range; empty when it can run.
std::vector<ConfigFault> validate(const Config& config);

// A fifth of the run: what schedule.decay_tokens stands for when it is not given.
std::int64_t default_decay_tokens(const RunConfig& run);

// Fills every optional that has an effect with the value it stands for. Precision stays as it is:
// only a machine can resolve it.
void resolve(Config& config);

// Remarks about a valid config that the user should read once: trained lengths that the source
// warns about, steep slopes.
std::vector<std::string> advice(const Config& config);

}  // namespace alibi
