// Vector arithmetic that the files compiled for AVX-512 share. Everything is local to the file that
// includes it: no function compiled for one instruction set may be linked into code for another.
#pragma once

#include <immintrin.h>

#include "kernels/tile_ops.h"

namespace alibi {
namespace {

inline __mmask16 lanes(std::int64_t left) {
  return left >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1U << left) - 1U);
}

inline const char* at_row(const TileRows& x, int row, int bytes) {
  return static_cast<const char*>(x.data) + row * x.stride * bytes;
}

struct Fp32 {
  static constexpr int kBytes = 4;
  static __m512 load(const void* p, __mmask16 m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(void* p, __mmask16 m, __m512 x) { _mm512_mask_storeu_ps(p, m, x); }
};

struct Bf16 {
  static constexpr int kBytes = 2;
  static __m512 widen(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
  }
  static __m512 load(const void* p, __mmask16 m) { return widen(_mm256_maskz_loadu_epi16(m, p)); }
  static __m256i narrow(__m512 x) { return (__m256i)_mm512_cvtneps_pbh(x); }
  static void store(void* p, __mmask16 m, __m512 x) { _mm256_mask_storeu_epi16(p, m, narrow(x)); }
};

inline __m512i interleave(__m256i even, __m256i odd) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

// Rows of dwords become columns: out[c] holds column c of in[0..15].
inline void transpose_16x16(__m512i r[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int c = 0; c < 4; ++c) {
    const __m512i low_even = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88);
    const __m512i high_even = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88);
    const __m512i low_odd = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);
    const __m512i high_odd = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
    t[c] = _mm512_shuffle_i32x4(low_even, high_even, 0x88);
    t[4 + c] = _mm512_shuffle_i32x4(low_odd, high_odd, 0x88);
    t[8 + c] = _mm512_shuffle_i32x4(low_even, high_even, 0xdd);
    t[12 + c] = _mm512_shuffle_i32x4(low_odd, high_odd, 0xdd);
  }
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

// Sums of rows of fp32 numbers that transpose_16x16 has made columns of.
inline __m512 sum_of(const __m512i r[16]) {
  __m512 sum = _mm512_castsi512_ps(r[0]);
  for (int i = 1; i < 16; ++i) sum = _mm512_add_ps(sum, _mm512_castsi512_ps(r[i]));
  return sum;
}

// 2^floor(y) * p(y - floor(y)), p a minimax polynomial of degree 6 with p(0) = 1 and relative error
// 2.1e-9, so that rounding (2 ulp at most) is all that is left; below 2^-126 the result is 0:
// numbers without a leading bit take processors a hundred times as long, and weights so small occur
// in every block far from its queries (skip "off" at 4096 took 157 ms with them, 72 without).
inline __m512 exp2(__m512 y) {
  constexpr int kDown = 0x09;  // y - floor(y), no exception
  const __m512 f = _mm512_reduce_ps(y, kDown);
  __m512 p = _mm512_set1_ps(2.1612929e-4F);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.2467843e-3F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(9.6754519e-3F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(5.5485280e-2F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(2.4022931e-1F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(6.9314704e-1F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0F));
  const __mmask16 normal = _mm512_cmp_ps_mask(y, _mm512_set1_ps(-126.0F), _CMP_NLT_UQ);  // or NaN
  return _mm512_maskz_scalef_ps(normal, p, y);
}

// log2 x for finite x > 0: x = 2^e m with m in [0.75, 1.5), log2 m = 2/ln 2 * atanh((m - 1)/(m +
// 1)) by its series to the ninth power: absolute error under 1e-8 before rounding.
inline __m512 log2(__m512 x) {
  const __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
  const __m512 e = _mm512_getexp_ps(_mm512_div_ps(x, m));
  const __m512 one = _mm512_set1_ps(1.0F);
  const __m512 s = _mm512_div_ps(_mm512_sub_ps(m, one), _mm512_add_ps(m, one));
  const __m512 square = _mm512_mul_ps(s, s);
  __m512 p = _mm512_set1_ps(0.32059890F);  // 2 / (9 ln 2), then / 7, 5, 3, 1
  p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(0.41219859F));
  p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(0.57707802F));
  p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(0.96179669F));
  p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(2.88539008F));
  return _mm512_fmadd_ps(p, s, e);
}

struct Normal {
  __m512 distribution, density;  // Phi(x), phi(x)
};

// By erf to 1.5e-7 (Abramowitz and Stegun 7.1.26). With z = |x| / sqrt(2) and t = 1 / (1 +
// 0.3275911 z): erfc(z) = (a1 t + ... + a5 t^5) e^(-z z).
inline Normal normal(__m512 x) {
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
  const __m512 power =
      exp2(_mm512_mul_ps(_mm512_mul_ps(z, z), _mm512_set1_ps(-static_cast<float>(kLog2E))));
  const __m512 tail =
      _mm512_mul_ps(_mm512_mul_ps(p, t), _mm512_mul_ps(power, _mm512_set1_ps(0.5F)));
  const __mmask16 negative = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
  return {_mm512_mask_mov_ps(_mm512_sub_ps(one, tail), negative, tail),
          _mm512_mul_ps(power, _mm512_set1_ps(0.39894228F))};
}

// x Phi(x)
inline __m512 gelu(__m512 x) { return _mm512_mul_ps(x, normal(x).distribution); }

// Phi(x) + x phi(x)
inline __m512 gelu_slope(__m512 x) {
  const Normal n = normal(x);
  return _mm512_fmadd_ps(x, n.density, n.distribution);
}

}  // namespace
}  // namespace alibi
