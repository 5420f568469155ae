// inspect memory: the parts of a training run's memory, and the largest batch of each length that
// fits into a limit.
#pragma once

#include <cstdint>
#include <vector>

#include "commands/found.h"
#include "config/config.h"

namespace alibi {

// `limit_bytes` 0: what this machine allows. `lengths`: trained lengths to list, in tokens.
Found describe_memory(const Config& config, const std::vector<std::int64_t>& lengths,
                      std::int64_t limit_bytes);

}  // namespace alibi
