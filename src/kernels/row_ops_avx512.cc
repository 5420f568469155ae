#include "kernels/row_ops.h"

#include "kernels/avx512.h"

namespace alibi {
namespace {

constexpr float kLn2 = 0.69314718F, kPerNat = static_cast<float>(kLog2E);

}  // namespace

RowLoss cross_entropy_row_bf16(std::uint16_t* logits, std::int64_t width, std::int64_t target,
                               GradientScale scale) {
  const float picked = _mm512_cvtss_f32(Bf16::load(logits + target, __mmask16{1}));
  __m512 top = _mm512_set1_ps(kNever);
  for (std::int64_t i = 0; i < width; i += 16) {
    const __mmask16 mask = lanes(width - i);
    top = _mm512_mask_max_ps(top, mask, Bf16::load(logits + i, mask), top);
  }
  const float highest = _mm512_reduce_max_ps(top);
  const __m512 factor = _mm512_set1_ps(kPerNat), shift = _mm512_set1_ps(highest * kPerNat);
  const auto power = [&](const std::uint16_t* at, __mmask16 mask) {
    return exp2(_mm512_fmsub_ps(Bf16::load(at, mask), factor, shift));
  };
  __m512 sums = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < width; i += 16) {
    const __mmask16 mask = lanes(width - i);
    sums = _mm512_mask_add_ps(sums, mask, sums, power(logits + i, mask));
  }
  const float sum = _mm512_reduce_add_ps(sums);
  const float log_sum = highest + kLn2 * _mm512_cvtss_f32(log2(_mm512_set1_ps(sum)));
  const RowLoss loss{log_sum - picked, log_sum};
  if (scale.all == 0.0F) return loss;
  const float pull = 1.0F + 2.0F * scale.z * log_sum;
  const float share = __builtin_expf(picked - highest) / sum;
  const __m512 gradient = _mm512_set1_ps(scale.all * pull / sum);
  for (std::int64_t i = 0; i < width; i += 16) {
    const __mmask16 mask = lanes(width - i);
    Bf16::store(logits + i, mask, _mm512_mul_ps(power(logits + i, mask), gradient));
  }
  Bf16::store(logits + target, __mmask16{1}, _mm512_set1_ps(scale.all * (share * pull - 1.0F)));
  return loss;
}

void gelu_bf16(const std::uint16_t* x, std::int64_t count, std::uint16_t* out) {
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = lanes(count - i);
    const __m512 value = Bf16::load(x + i, mask);
    Bf16::store(out + i, mask, gelu(value));
  }
}

void gelu_backward_bf16(const std::uint16_t* x, const std::uint16_t* gradient, std::int64_t count,
                        std::uint16_t* out) {
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = lanes(count - i);
    const __m512 value = Bf16::load(x + i, mask);
    Bf16::store(out + i, mask, _mm512_mul_ps(Bf16::load(gradient + i, mask), gelu_slope(value)));
  }
}

}  // namespace alibi
