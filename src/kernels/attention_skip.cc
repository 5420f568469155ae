#include "kernels/attention_skip.h"

#include <cmath>

namespace alibi {

float skip_threshold(SkipRule rule, std::int64_t keys) {
  if (rule == SkipRule::kOff) return -1;
  if (rule == SkipRule::kExact) return 151;
  return static_cast<float>((17.0 + std::log(static_cast<double>(keys))) * kLog2E);
}

SkipTest make_skip_test(SkipRule rule, std::int64_t keys, const BiasBound& bias,
                        const SkipRows& rows) {
  const bool falls = bias.slope > 0 || bias.reach != nullptr || bias.queries != nullptr;
  const bool active = rule != SkipRule::kOff && bias.slope >= 0 && falls;
  return {rows, bias, skip_threshold(rule, keys), active};
}

float SkipTest::beyond_slope(int row, const KeyBound& keys) const {
  float most = keys.term;
  if (bias.queries != nullptr) most += bias.queries[row];
  if (bias.reach == nullptr) return most;
  const std::int64_t back = row > keys.last_key ? row - keys.last_key : 0;
  return most + bias.reach[back < bias.distances ? back : bias.distances - 1];
}

bool SkipTest::nothing_from(const KeyBound& keys) const {
  if (!active) return false;
  return bias.reach == nullptr && bias.queries == nullptr ? nothing_by_slope(keys)
                                                          : nothing_by_all_forms(keys);
}

// Loops apart: the compiler makes vectors of this one.
bool SkipTest::nothing_by_slope(const KeyBound& keys) const {
  const float last = static_cast<float>(keys.last_key);
  int gains = 0;
  for (int i = 0; i < kTile; ++i) {
    const float bound = rows.norms[i] * keys.norm + bias.slope * (last - static_cast<float>(i));
    gains += bound + threshold < rows.low[i] ? 0 : 1;  // NaN gains
  }
  return gains == 0;
}

bool SkipTest::nothing_by_all_forms(const KeyBound& keys) const {
  const float last = static_cast<float>(keys.last_key);
  for (int i = 0; i < kTile; ++i) {
    const float slope = bias.slope * (last - static_cast<float>(i));
    const float bound = rows.norms[i] * keys.norm + slope + beyond_slope(i, keys);
    if (!(bound + threshold < rows.low[i])) return false;  // NaN gains
  }
  return true;
}

}  // namespace alibi
