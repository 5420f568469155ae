#include "kernels/attention_skip.h"

#include <cmath>

namespace alibi {
SkipTest make_skip_test(SkipRule rule, std::int64_t keys, float slope, const SkipRows& rows) {
  const double epsilon = (17.0 + std::log(static_cast<double>(keys))) * kLog2E;
  return {rows, slope, rule == SkipRule::kExact ? 151.0F : static_cast<float>(epsilon),
          rule != SkipRule::kOff && slope > 0};
}

bool SkipTest::nothing_from(float key_norm, std::int64_t last_key) const {
  if (!active) return false;
  const float last = static_cast<float>(last_key);
  int gains = 0;
  for (int i = 0; i < kTile; ++i) {
    const float bound = rows.norms[i] * key_norm + slope * (last - static_cast<float>(i));
    gains += bound + threshold < rows.low[i] ? 0 : 1;  // NaN gains
  }
  return gains == 0;
}

}  // namespace alibi
