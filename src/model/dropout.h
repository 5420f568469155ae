// Dropout whose mask is a pure function of a key: the same for any thread count, before and after a
// resume.
#pragma once

#include "base/random.h"
#include "device/tensor.h"

namespace alibi {

// x with each element zeroed with probability p and the others divided by 1 - p; x itself when p is
// 0.
torch::Tensor dropout(const torch::Tensor& x, double p, RandomKey key);

}  // namespace alibi
