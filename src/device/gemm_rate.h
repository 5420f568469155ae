// The rate a matrix product reaches on this machine right now: what a training step is compared
// with.
#pragma once

#include "device/tensor.h"

namespace alibi {

// FLOP/s of (rows x width) by (width x 4 width) in `type`, best of a few runs, about 0.1 s in all.
double measure_gemm_rate(torch::Device device, torch::ScalarType type, std::int64_t rows,
                         std::int64_t width);

}  // namespace alibi
