// The type that sums and formulas are computed in: fp64 of fp64, else fp32.
#pragma once

#include "device/tensor.h"

namespace alibi {

inline torch::ScalarType exact_type(const torch::Tensor& x) {
  return x.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
}

}  // namespace alibi
