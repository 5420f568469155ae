// AdamW (Loshchilov and Hutter 2019): m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;
// w -= lr * (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay * w). Decay on matrices only.
// Its state tensors are moment_1 (m) and moment_2 (v).
#pragma once

#include "optimizer/optimizer.h"

namespace alibi {

OptimizerKind adamw();

}  // namespace alibi
