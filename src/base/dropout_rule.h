// What a dropout mask makes of uniform 32-bit words: the same wherever masks are drawn.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace alibi {

struct DropoutRule {
  // 0 <= p < 1.
  explicit DropoutRule(double p) {
    ensure(p >= 0 && p < 1, "a dropout probability lies in [0, 1)");
    dropped_below = static_cast<std::uint32_t>(p * 0x1p32);
    kept = static_cast<float>(1.0 / (1.0 - p));
  }
  std::uint32_t dropped_below = 0;  // such words become 0
  float kept = 1;                   // others
};

}  // namespace alibi
