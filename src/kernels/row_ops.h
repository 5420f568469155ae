// Rows of memory, each gone through while it is in the cache, for the parts of a step that only
// move numbers: cross-entropy over a row of logits (in three loops: maximum, sum, gradient), GELU.
// bf16 in and out, arithmetic in fp32; they need has_avx512_bf16(). Elsewhere LibTorch's operators
// do the same work (model/loss, model/layers.cc).
#pragma once

#include <cstdint>

namespace alibi {

struct RowLoss {
  float cross_entropy;  // log_sum - logits[target]
  float log_sum;        // log(sum exp(logits))
};

struct GradientScale {
  float all = 0;  // 0: no gradient is asked for
  float z = 0;    // of the z-loss, z * log_sum^2
};

// Loss of one row. With a scale other than 0 the logits are overwritten by the gradient,
// all * (softmax(logits) * (1 + 2 z log_sum) - [target]).
RowLoss cross_entropy_row_bf16(std::uint16_t* logits, std::int64_t width, std::int64_t target,
                               GradientScale scale);

// out = x * Phi(x), Phi the normal distribution by erf to 1.5e-7 (Abramowitz and Stegun 7.1.26).
void gelu_bf16(const std::uint16_t* x, std::int64_t count, std::uint16_t* out);
// out = gradient * (Phi(x) + x phi(x)); may be `gradient` itself.
void gelu_backward_bf16(const std::uint16_t* x, const std::uint16_t* gradient, std::int64_t count,
                        std::uint16_t* out);

}  // namespace alibi
