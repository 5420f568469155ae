// Positions beyond the trained length, brought back into the range a model has seen, at evaluation
// or by the model's own keys (model.rotary_scaling): what each method makes of it is in
// model/position/NAME.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "config/evaluation_config.h"

namespace alibi {

struct PositionStretch {
  Stretch kind = Stretch::kNone;
  double factor = 1;                // how many times longer: 1 changes nothing
  std::int64_t trained_length = 0;  // yarn only
  bool active() const { return kind != Stretch::kNone && factor > 1; }
};

// What an evaluation may change about a trained method.
struct PositionChanges {
  PositionStretch stretch;
  std::vector<double> slopes;  // instead of the model's own; empty: those
};

}  // namespace alibi
