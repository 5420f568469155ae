// Positions beyond the trained length, brought back into the range a model has seen, at evaluation
// only. `factor` is how many times longer: 1 changes nothing.
//
//   rotary  linear  every frequency / factor (Chen et al. 2023, position interpolation)
//           ntk     base * factor^(D / (D - 2)): the fastest pair as it was, the slowest / factor
//           yarn    pairs that turn less than once in the trained length / factor, those that turn
//                   more than 32 times as they were, a ramp between; magnitude 1 + 0.1 ln(factor)
//                   (Peng et al. 2023, section 3)
//   alibi   linear  every slope / factor
//           ntk     the flattest slope / factor, the steepest as it was, those between by their
//                   place on a logarithmic scale: for slopes in a geometric row this is
//                   slope_h * factor^(-(h - 1) / (H - 1)), and it works for any list
#pragma once

#include <vector>

#include "config/config.h"
#include "model/position.h"

namespace alibi {

struct PositionStretch {
  Stretch kind = Stretch::kNone;
  double factor = 1;
  std::int64_t trained_length = 0;  // yarn only
  bool active() const { return kind != Stretch::kNone && factor > 1; }
};

std::vector<double> stretched_slopes(const std::vector<double>& slopes,
                                     const PositionStretch& stretch);
Rotation stretched_rotation(std::int64_t width, double base, const PositionStretch& stretch);

}  // namespace alibi
