// Takes the hook of system calls away again, also where a test leaves early.
#pragma once

#include "base/system_calls.h"

namespace alibi {

struct HookOff {
  ~HookOff() { set_system_call_hook({}); }
};

}  // namespace alibi
