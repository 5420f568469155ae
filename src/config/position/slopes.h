// ALiBi's slopes, one per head.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/enum_names.h"

namespace alibi {

struct ModelConfig;

enum class SlopeRule { kPress, kGeometric, kEqual, kExponential };
constexpr auto enum_names(SlopeRule) {
  return std::array{"press", "geometric", "equal", "exponential"};
}

// kGeometric: 2^(-bias_max i / heads), i = 1..heads, for any count (Press et al. 2021, section 3).
// kPress: the same for powers of two; other counts take the list of the next lower power of two,
// then every other slope of the doubled list, in the published reference order. kEqual: the
// geometric list's geometric mean, for every head.
std::vector<double> slopes_by_rule(SlopeRule rule, std::int64_t heads, double bias_max);
// Drawn from the exponential distribution with the geometric list's mean, steepest first (Press et
// al. 2021, section 3, tried drawn slopes without naming a scale).
std::vector<double> exponential_slopes(std::int64_t heads, double bias_max, std::uint64_t seed);
// The explicit list, or by rule for the biased heads and 0 for the others.
std::vector<double> alibi_slopes(const ModelConfig& model);

}  // namespace alibi
