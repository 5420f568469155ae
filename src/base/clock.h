// Wall time, for reports and deadlines; what a run computes depends on it by run.train_seconds
// and, in its last bits, by the choice of runtime.linear_layers.
#pragma once

#include <string>

namespace alibi {

double seconds_now();         // monotonic
std::string utc_timestamp();  // "2026-01-31T12:00:00Z"

}  // namespace alibi
