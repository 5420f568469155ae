#pragma once

#include <cstdint>

#include "device/tensor.h"

namespace alibi {

// Bucket of each distance d >= 0 (int64, any shape): exact below half, then logarithmic up to
// max_distance, the last bucket open (Raffel et al. 2020, section 2.1; causal form).
torch::Tensor t5_bucket(const torch::Tensor& distance, std::int64_t buckets,
                        std::int64_t max_distance);

}  // namespace alibi
