// Wall time for reports; never for anything that changes a result.
#pragma once

#include <string>

namespace alibi {

double seconds_now();         // monotonic
std::string utc_timestamp();  // "2026-01-31T12:00:00Z"

}  // namespace alibi
