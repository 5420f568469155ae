// One query over up to 64 keys for AVX-512: rows are read where they lie, in memory's type.
#include "kernels/avx512.h"

namespace alibi {
namespace {

// q.k, 16 lanes wide. Products of bf16 below 2^-126 count as 0.
__m512 products(Fp32, const void* q, const void* k, int width) {
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < width; i += 16) {
    const __mmask16 mask = lanes(width - i);
    sum = _mm512_fmadd_ps(Fp32::load(static_cast<const float*>(q) + i, mask),
                          Fp32::load(static_cast<const float*>(k) + i, mask), sum);
  }
  return sum;
}

__m512 products(Bf16, const void* q, const void* k, int width) {
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < width; i += 32) {
    const __mmask16 mask = lanes((width - i) / 2);
    const auto load = [&](const void* row) {
      return (__m512bh)_mm512_maskz_loadu_epi32(mask, static_cast<const std::uint16_t*>(row) + i);
    };
    sum = _mm512_dpbf16_ps(sum, load(q), load(k));
  }
  return sum;
}

// Scores of 16 keys: one transpose in place of sixteen sums across lanes.
template <class Type>
__m512 scores(const QueryTile& t, int first) {
  __m512i sums[16];
  for (int i = 0; i < 16; ++i) {
    sums[i] = first + i < t.count
                  ? _mm512_castps_si512(products(Type{}, t.query, t.keys[first + i], t.width))
                  : _mm512_setzero_si512();
  }
  transpose_16x16(sums);
  return sum_of(sums);
}

void rescale(QueryTile& t, float reference) {
  const float old = t.highest;
  t.highest = reference;
  if (old == kNever) return;  // its weights, if any, are NaN and stay it
  const __m512 factors = exp2(_mm512_set1_ps(old - reference));
  t.sum *= _mm512_cvtss_f32(factors);
  for (int i = 0; i < t.width; i += 16) {
    const __mmask16 mask = lanes(t.width - i);
    Fp32::store(t.output + i, mask, _mm512_mul_ps(Fp32::load(t.output + i, mask), factors));
  }
}

// Columns first ... first + 16 kParts - 1 of the sum of weights times values. Even and odd keys are
// summed apart: one sum alone would wait for each product.
template <class Type, int kParts>
void add_values(const QueryTile& t, const float* weights, int first) {
  __m512 sums[2][kParts];
  __mmask16 mask[kParts];
  for (int part = 0; part < kParts; ++part) {
    mask[part] = lanes(t.width - first - 16 * part);
    sums[0][part] = Fp32::load(t.output + first + 16 * part, mask[part]);
    sums[1][part] = _mm512_setzero_ps();
  }
  const auto add = [&](int key, __m512* to) {
    const char* row = static_cast<const char*>(t.values[key]) + first * Type::kBytes;
    const __m512 weight = _mm512_set1_ps(weights[key]);
    for (int part = 0; part < kParts; ++part)
      to[part] =
          _mm512_fmadd_ps(weight, Type::load(row + 16 * part * Type::kBytes, mask[part]), to[part]);
  };
  int key = 0;
  for (; key + 1 < t.count; key += 2) {
    add(key, sums[0]);
    add(key + 1, sums[1]);
  }
  if (key < t.count) add(key, sums[0]);
  for (int part = 0; part < kParts; ++part)
    Fp32::store(t.output + first + 16 * part, mask[part],
                _mm512_add_ps(sums[0][part], sums[1][part]));
}

template <class Type>
void query_tile(QueryTile& t) {
  const int parts = (t.count + 15) / 16;
  const __m512 never = _mm512_set1_ps(kNever), scale = _mm512_set1_ps(t.scale);
  __m512 y[4], top = never;
  __mmask16 seen[4];
  for (int v = 0; v < parts; ++v) {
    seen[v] = static_cast<__mmask16>(t.seen >> 16 * v) & lanes(t.count - 16 * v);
    y[v] = _mm512_mask_mov_ps(
        never, seen[v],
        _mm512_fmadd_ps(scores<Type>(t, 16 * v), scale, _mm512_loadu_ps(t.bias + 16 * v)));
    top = _mm512_max_ps(top, y[v]);
  }
  const float highest = _mm512_reduce_max_ps(top);
  if (highest > t.highest + kHeadroom) rescale(t, highest);
  alignas(64) float weights[kTile];
  __m512 sum = _mm512_setzero_ps();
  for (int v = 0; v < parts; ++v) {
    y[v] = _mm512_maskz_mov_ps(seen[v], exp2(_mm512_sub_ps(y[v], _mm512_set1_ps(t.highest))));
    sum = _mm512_add_ps(sum, y[v]);
    _mm512_store_ps(weights + 16 * v, y[v]);
  }
  t.sum += _mm512_reduce_add_ps(sum);
  int first = 0;
  for (; first + 48 < t.width; first += 64) add_values<Type, 4>(t, weights, first);
  for (; first + 16 < t.width; first += 32) add_values<Type, 2>(t, weights, first);
  if (first < t.width) add_values<Type, 1>(t, weights, first);
}

}  // namespace

void query_tile_avx512_bf16(QueryTile& tile) { query_tile<Bf16>(tile); }
void query_tile_avx512_fp32(QueryTile& tile) { query_tile<Fp32>(tile); }

}  // namespace alibi
