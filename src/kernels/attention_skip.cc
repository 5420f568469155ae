#include "kernels/attention_skip.h"

#include <cmath>

namespace alibi {

float skip_threshold(SkipRule rule, std::int64_t keys) {
  if (rule == SkipRule::kOff) return -1;
  if (rule == SkipRule::kExact) return 151;
  return static_cast<float>((17.0 + std::log(static_cast<double>(keys))) * kLog2E);
}

SkipTest make_skip_test(SkipRule rule, std::int64_t keys, float slope, const SkipRows& rows) {
  return {rows, slope, skip_threshold(rule, keys), rule != SkipRule::kOff && slope > 0};
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
