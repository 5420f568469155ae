#include "kernels/row_ops.h"

#include "kernels/avx512.h"

namespace alibi {
namespace {

constexpr float kLn2 = 0.69314718F, kPerNat = static_cast<float>(kLog2E);

struct Normal {
  __m512 distribution, density;  // Phi(x), phi(x)
};

// With z = |x| / sqrt(2) and t = 1 / (1 + 0.3275911 z): erfc(z) = (a1 t + ... + a5 t^5) e^(-z z).
Normal normal(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0F);
  // Beyond 20 the tail is 0; infinity would meet 0 in the Newton step. NaN stays.
  const __m512 z = _mm512_min_ps(_mm512_set1_ps(20.0F),
                                 _mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(0.70710678F)));
  const __m512 d = _mm512_fmadd_ps(z, _mm512_set1_ps(0.3275911F), one);
  const __m512 guess = _mm512_rcp14_ps(d);  // one Newton step makes 28 bits of its 14
  const __m512 t = _mm512_mul_ps(guess, _mm512_fnmadd_ps(d, guess, _mm512_set1_ps(2.0F)));
  __m512 p = _mm512_set1_ps(1.061405429F);
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(-1.453152027F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(1.421413741F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(-0.284496736F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0.254829592F));
  const __m512 power = exp2(_mm512_mul_ps(_mm512_mul_ps(z, z), _mm512_set1_ps(-kPerNat)));
  const __m512 tail =
      _mm512_mul_ps(_mm512_mul_ps(p, t), _mm512_mul_ps(power, _mm512_set1_ps(0.5F)));
  const __mmask16 negative = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
  return {_mm512_mask_mov_ps(_mm512_sub_ps(one, tail), negative, tail),
          _mm512_mul_ps(power, _mm512_set1_ps(0.39894228F))};
}

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
    Bf16::store(out + i, mask, _mm512_mul_ps(value, normal(value).distribution));
  }
}

void gelu_backward_bf16(const std::uint16_t* x, const std::uint16_t* gradient, std::int64_t count,
                        std::uint16_t* out) {
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = lanes(count - i);
    const __m512 value = Bf16::load(x + i, mask);
    const Normal n = normal(value);
    const __m512 slope = _mm512_fmadd_ps(value, n.density, n.distribution);
    Bf16::store(out + i, mask, _mm512_mul_ps(Bf16::load(gradient + i, mask), slope));
  }
}

}  // namespace alibi
