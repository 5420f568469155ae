// Queries and keys turned by their position (Su et al. 2021), and those angles stretched.
#pragma once

#include <cstdint>
#include <vector>

#include "device/tensor.h"
#include "model/position/stretch.h"

namespace alibi {

// How rotary positions turn: pair c by `frequencies[c]` radians a position, D/2 of them; the result
// times `magnitude`.
struct Rotation {
  std::vector<double> frequencies;
  double magnitude = 1;
};
Rotation rotation(std::int64_t width, double base);  // base^(-2c / D) (Su et al. 2021, eq. 34)

// linear  every frequency / factor (Chen et al. 2023, position interpolation)
// ntk     base * factor^(D / (D - 2)): the fastest pair as it was, the slowest / factor
// yarn    pairs that turn less than once in the trained length / factor, those that turn more than
//         32 times as they were, a ramp between; magnitude 1 + 0.1 ln(factor) (Peng et al. 2023,
//         section 3)
Rotation stretched_rotation(std::int64_t width, double base, const PositionStretch& stretch);

// Of positions first .. first + T - 1; angles in fp64, kept in `type`.
struct RotationTable {
  torch::Tensor cos_Tc, sin_Tc;
};
RotationTable rotation_table(std::int64_t first, std::int64_t count, const Rotation& rotation,
                             torch::Device device, torch::ScalarType type);

// Rotates pairs (c, c + D/2) of x_BHTD by its row's position; the rotation in fp32 (fp64 where x
// is), result in x's type.
torch::Tensor rotate(const torch::Tensor& x_BHTD, const RotationTable& table);
torch::Tensor rotate(const torch::Tensor& x_BHTD, std::int64_t first, const Rotation& rotation);

}  // namespace alibi
