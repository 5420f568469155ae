// A stop as a signal asks for it, without the signal.
#pragma once

#include "base/stop.h"

namespace alibi {

inline void request_stop(int signal) { stop_requested = signal; }
inline void clear_stop() { stop_requested = 0; }

}  // namespace alibi
