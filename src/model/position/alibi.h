// Attention with linear biases (Press et al. 2021): slope_h * (j - i) is added to each score.
#pragma once

#include <cstdint>
#include <vector>

#include "device/tensor.h"
#include "model/position/stretch.h"

namespace alibi {

// linear  every slope / factor
// ntk     the flattest slope / factor, the steepest as it was, those between by their place on a
//         logarithmic scale: for slopes in a geometric row this is
//         slope_h * factor^(-(h - 1) / (H - 1)), and it works for any list
std::vector<double> stretched_slopes(const std::vector<double>& slopes,
                                     const PositionStretch& stretch);

// log of Press's slopes, (H) fp32: where learned biases start.
torch::Tensor log_press_slopes(std::int64_t heads);

}  // namespace alibi
