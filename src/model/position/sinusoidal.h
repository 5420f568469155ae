#pragma once

#include <cstdint>

#include "device/tensor.h"

namespace alibi {

// Rows first .. first+T-1 of Vaswani et al. 2017, section 3.5, sines in the first half of the
// columns and cosines in the second: fp32 (T, C).
torch::Tensor sinusoidal_rows(std::int64_t first, std::int64_t rows, std::int64_t width,
                              torch::Device device);

}  // namespace alibi
