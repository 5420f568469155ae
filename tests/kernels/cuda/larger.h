// The largest of several errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace alibi {

// Of differences: one that is no number counts as the largest, whatever comes behind it.
inline double larger(double worst, double one) {
  return std::isnan(one) ? std::numeric_limits<double>::infinity() : std::max(worst, one);
}

}  // namespace alibi
