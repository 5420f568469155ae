// Tile arithmetic for AVX-512: fp32, and bf16 where the processor has avx512_bf16.
//
// This file is compiled for its instruction set and shares no inline function with other files.
//
// Ladder (Xeon with AMX; one tile of 64 x 64 on one thread, or attention forward and backward at
// 4096 on two, `alibi bench attention`):
//   norms and dots by fp32 products, a sum across lanes for each row          0.48 us
//   by bf16 dot products, sixteen rows' sums by one transpose                 0.26
//   gradient tile, bias made for every element                                1.19
//   keys' and queries' share of it made once                                  0.99
//   weights below 2^-126 as denormal numbers, nothing skipped                  157 ms
//   as 0                                                                        72
#include "kernels/avx512.h"
#include "kernels/processor.h"

namespace alibi {
namespace {

void rescale(const SoftmaxTile& t, int row, float reference) {
  const float old = t.highest[row];
  t.highest[row] = reference;
  if (old == kNever) return;  // its weights, if any, are NaN and stay it
  const __m512 factors = exp2(_mm512_set1_ps(old - reference));
  float* sums = t.sums + row * kLanes;
  _mm512_storeu_ps(sums, _mm512_mul_ps(_mm512_loadu_ps(sums), factors));
  float* output = t.output + static_cast<std::int64_t>(row) * t.width;
  for (int i = 0; i < t.width; i += 16) {
    const __mmask16 mask = lanes(t.width - i);
    _mm512_mask_storeu_ps(output + i, mask,
                          _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, output + i), factors));
  }
}

__m512i iota() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }

// Of 16 elements of a tile's row, from `column` on: which count.
__mmask16 counted(const TileMask& mask, int row, int column) {
  return static_cast<__mmask16>(mask.rows[row] >> column);
}

// Biases of 16 elements of a tile's row, from `column` on, by diagonal.
__m512 diagonals(const TileBias& bias, int row, int column) {
  return _mm512_loadu_ps(bias.diagonals + kTile - 1 + column - row);
}

void store_weights(Fp32, void* out, int row, const __m512 p[4]) {
  float* to = static_cast<float*>(out) + row * kTile;
  for (int v = 0; v < 4; ++v) _mm512_storeu_ps(to + 16 * v, p[v]);
}

void store_weights(Bf16, void* out, int row, const __m512 p[4]) {
  auto* to = static_cast<std::uint16_t*>(out) + row * kTile;
  _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(p[1], p[0]));
  _mm512_storeu_si512(to + 32, (__m512i)_mm512_cvtne2ps_pbh(p[3], p[2]));
}

// What a row's bias is made of: the keys' numbers, or with kBias what they add.
template <bool kBias>
void load_keys(const SoftmaxTile& t, __m512 keys[4]) {
  for (int v = 0; v < 4; ++v) {
    const __m512i place = _mm512_add_epi32(_mm512_set1_epi32(t.distance + 16 * v), iota());
    keys[v] = kBias ? _mm512_loadu_ps(t.bias->keys + 16 * v) : _mm512_cvtepi32_ps(place);
  }
}

template <class Type, bool kMasked, bool kBias>
void softmax_rows(const SoftmaxTile& t) {
  __m512 keys[4];
  load_keys<kBias>(t, keys);
  const __m512 scale = _mm512_set1_ps(t.scale), slope = _mm512_set1_ps(t.slope);
  for (int row = 0; row < t.rows; ++row) {
    const float* scores = t.scores + row * kTile;
    __m512 y[4];
    __mmask16 mask[4];
    for (int v = 0; v < 4; ++v) {
      __m512 bias;
      if (kBias) {
        bias = _mm512_add_ps(diagonals(*t.bias, row, 16 * v),
                             _mm512_add_ps(keys[v], _mm512_set1_ps(t.bias->queries[row])));
      } else {
        const __m512 distance = _mm512_sub_ps(keys[v], _mm512_set1_ps(static_cast<float>(row)));
        bias = _mm512_mul_ps(distance, slope);
      }
      y[v] = _mm512_fmadd_ps(_mm512_loadu_ps(scores + 16 * v), scale, bias);
      if (!kMasked) continue;
      mask[v] = counted(*t.mask, row, 16 * v);
      y[v] = _mm512_mask_mov_ps(_mm512_set1_ps(kNever), mask[v], y[v]);
    }
    const __m512 top = _mm512_max_ps(_mm512_max_ps(y[0], y[1]), _mm512_max_ps(y[2], y[3]));
    const __m512 limit = _mm512_set1_ps(t.highest[row] + kHeadroom);
    if (_mm512_cmp_ps_mask(top, limit, _CMP_GT_OQ) != 0) rescale(t, row, _mm512_reduce_max_ps(top));
    const __m512 highest = _mm512_set1_ps(t.highest[row]);
    for (int v = 0; v < 4; ++v) {
      y[v] = exp2(_mm512_sub_ps(y[v], highest));
      if (kMasked) y[v] = _mm512_maskz_mov_ps(mask[v], y[v]);
    }
    float* sums = t.sums + row * kLanes;
    const __m512 sum = _mm512_add_ps(_mm512_add_ps(y[0], y[1]), _mm512_add_ps(y[2], y[3]));
    _mm512_storeu_ps(sums, _mm512_add_ps(_mm512_loadu_ps(sums), sum));
    store_weights(Type{}, t.weights, row, y);
  }
}

template <class Type, bool kMasked>
void softmax_of(const SoftmaxTile& t) {
  t.bias != nullptr ? softmax_rows<Type, kMasked, true>(t) : softmax_rows<Type, kMasked, false>(t);
}

template <class Type>
void softmax(const SoftmaxTile& t) {
  t.mask != nullptr ? softmax_of<Type, true>(t) : softmax_of<Type, false>(t);
}

void log_sums(const float* highest, const float* sums, float* out, float* reciprocals) {
  for (int row = 0; row < kTile; row += 16) {
    __m512i lanes_of[16];
    for (int i = 0; i < 16; ++i) lanes_of[i] = _mm512_loadu_si512(sums + (row + i) * kLanes);
    transpose_16x16(lanes_of);
    const __m512 sum = sum_of(lanes_of);
    _mm512_storeu_ps(out + row, _mm512_add_ps(_mm512_loadu_ps(highest + row), log2(sum)));
    _mm512_storeu_ps(reciprocals + row, _mm512_div_ps(_mm512_set1_ps(1.0F), sum));
  }
}

// ---- gradients ----

struct KeyRow {  // 16 queries of one key
  __m512 weight, gradient, away;
};

// What the keys of a tile share of 16 queries. With a bias the log-sums are less what it adds.
struct Queries {
  __m512 number, log_sum, delta;
};

template <bool kBias>
Queries queries(const GradientTile& t, int query) {
  __m512 log_sum = _mm512_loadu_ps(t.log_sums + query);
  if (kBias) log_sum = _mm512_sub_ps(log_sum, _mm512_loadu_ps(t.bias->queries + query));
  return {_mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_set1_epi32(query), iota())), log_sum,
          _mm512_loadu_ps(t.delta + query)};
}

template <bool kMasked, bool kBias>
KeyRow key_row(const GradientTile& t, const Queries& q, int key, int query) {
  const int at = key * kTile + query;
  const std::int32_t distance = t.distance + key;
  const __m512 away = _mm512_sub_ps(_mm512_set1_ps(static_cast<float>(distance)), q.number);
  __m512 offset;
  if (kBias) {
    offset = _mm512_sub_ps(
        _mm512_add_ps(diagonals(*t.bias, key, query), _mm512_set1_ps(t.bias->keys[key])),
        q.log_sum);
  } else {
    offset = _mm512_fmsub_ps(away, _mm512_set1_ps(t.slope), q.log_sum);
  }
  __m512 p = exp2(_mm512_fmadd_ps(_mm512_loadu_ps(t.scores + at), _mm512_set1_ps(t.scale), offset));
  if (kMasked) p = _mm512_maskz_mov_ps(counted(*t.mask, key, query), p);
  const __m512 centred = _mm512_sub_ps(_mm512_loadu_ps(t.products + at), q.delta);
  return {p, _mm512_mul_ps(p, centred), away};
}

void store_key_rows(Fp32, const GradientTile& t, int at, const KeyRow& even, const KeyRow& odd) {
  auto* weights = static_cast<float*>(t.weights) + at;
  auto* gradients = static_cast<float*>(t.gradients) + at;
  _mm512_storeu_ps(weights, even.weight);
  _mm512_storeu_ps(weights + kTile, odd.weight);
  _mm512_storeu_ps(gradients, even.gradient);
  _mm512_storeu_ps(gradients + kTile, odd.gradient);
}

void store_256(void* to, __m256i value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }

void store_key_rows(Bf16, const GradientTile& t, int at, const KeyRow& even, const KeyRow& odd) {
  auto* weights = static_cast<std::uint16_t*>(t.weights) + at;
  auto* gradients = static_cast<std::uint16_t*>(t.gradients) + at;
  store_256(weights, Bf16::narrow(even.weight));
  store_256(weights + kTile, Bf16::narrow(odd.weight));
  const __m256i even_gradient = Bf16::narrow(even.gradient),
                odd_gradient = Bf16::narrow(odd.gradient);
  store_256(gradients, even_gradient);
  store_256(gradients + kTile, odd_gradient);
  const int query = at % kTile;
  auto* pairs = static_cast<std::uint16_t*>(t.gradient_pairs) + (at - query) + 2 * query;
  _mm512_storeu_si512(pairs, interleave(even_gradient, odd_gradient));
}

template <class Type, bool kMasked, bool kSlope>
void gradient_rows(const GradientTile& t) {
  __m512 slope = kSlope ? _mm512_loadu_ps(t.slope_sums) : _mm512_setzero_ps();
  for (int query = 0; query < kTile; query += 16) {
    const Queries q = queries<false>(t, query);
    for (int key = 0; key < kTile; key += 2) {
      const KeyRow even = key_row<kMasked, false>(t, q, key, query);
      const KeyRow odd = key_row<kMasked, false>(t, q, key + 1, query);
      store_key_rows(Type{}, t, key * kTile + query, even, odd);
      if (!kSlope) continue;
      slope = _mm512_fmadd_ps(even.gradient, even.away, slope);
      slope = _mm512_fmadd_ps(odd.gradient, odd.away, slope);
    }
  }
  if (kSlope) _mm512_storeu_ps(t.slope_sums, slope);
}

// Sums along diagonals of keys that come one after the other, for 16 queries: from key to key each
// lane's diagonal moves one lane up. A store writes what is complete (the last lane) and what later
// stores replace, so nothing is read back.
class DiagonalSums {
 public:
  explicit DiagonalSums(int query) : query_(query) {}
  void add(int key, __m512 gradient) {
    const __m512i up = _mm512_alignr_epi32(_mm512_castps_si512(sums_), _mm512_setzero_si512(), 15);
    sums_ = _mm512_add_ps(_mm512_castsi512_ps(up), gradient);
    _mm512_storeu_ps(by_diagonal_ + kTile - 1 - key, sums_);
  }
  void add_to(float* diagonal_sums) const {  // 64 + 15 diagonals, from that of the last key on
    float* to = diagonal_sums + query_;
    for (int i = 0; i < kTile + 15; i += 16) {
      const __mmask16 mask = lanes(kTile + 15 - i);
      const __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to + i),
                                       _mm512_maskz_loadu_ps(mask, by_diagonal_ + i));
      _mm512_mask_storeu_ps(to + i, mask, sum);
    }
  }

 private:
  int query_;
  __m512 sums_ = _mm512_setzero_ps();
  float by_diagonal_[kTile + 16];
};

// Sums wanted of a tile: by diagonal, by key. By query they cost next to nothing.
template <class Type, bool kMasked, bool kDiagonals, bool kKeys>
void biased_gradient_rows(const GradientTile& t) {
  for (int query = 0; query < kTile; query += 16) {
    const Queries q = queries<true>(t, query);
    DiagonalSums sums(query);
    __m512 by_query = _mm512_setzero_ps();
    for (int key = 0; key < kTile; key += 2) {
      const KeyRow even = key_row<kMasked, true>(t, q, key, query);
      const KeyRow odd = key_row<kMasked, true>(t, q, key + 1, query);
      store_key_rows(Type{}, t, key * kTile + query, even, odd);
      by_query = _mm512_add_ps(by_query, _mm512_add_ps(even.gradient, odd.gradient));
      if (kDiagonals) {
        sums.add(key, even.gradient);
        sums.add(key + 1, odd.gradient);
      }
      if (kKeys) {
        t.key_sums[key] += _mm512_reduce_add_ps(even.gradient);
        t.key_sums[key + 1] += _mm512_reduce_add_ps(odd.gradient);
      }
    }
    if (kDiagonals) sums.add_to(t.diagonal_sums);
    if (t.query_sums == nullptr) continue;
    float* const to = t.query_sums + query;
    _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), by_query));
  }
}

template <class Type, bool kMasked>
void biased_gradient_of(const GradientTile& t) {
  if (t.diagonal_sums != nullptr) {
    t.key_sums != nullptr ? biased_gradient_rows<Type, kMasked, true, true>(t)
                          : biased_gradient_rows<Type, kMasked, true, false>(t);
  } else {
    t.key_sums != nullptr ? biased_gradient_rows<Type, kMasked, false, true>(t)
                          : biased_gradient_rows<Type, kMasked, false, false>(t);
  }
}

template <class Type, bool kMasked>
void gradient_of(const GradientTile& t) {
  if (t.bias != nullptr) return biased_gradient_of<Type, kMasked>(t);
  t.slope_sums != nullptr ? gradient_rows<Type, kMasked, true>(t)
                          : gradient_rows<Type, kMasked, false>(t);
}

template <class Type>
void gradient(const GradientTile& t) {
  t.mask != nullptr ? gradient_of<Type, true>(t) : gradient_of<Type, false>(t);
}

// ---- results ----

template <class Type>
void store_rows(const float* tile, const float* factors, const TileTarget& target) {
  for (int row = 0; row < target.count; ++row) {
    const __m512 factor = _mm512_set1_ps(factors[row]);
    char* to = static_cast<char*>(target.data) + row * target.stride * Type::kBytes;
    for (int i = 0; i < target.width; i += 16) {
      const __mmask16 mask = lanes(target.width - i);
      const __m512 x = _mm512_maskz_loadu_ps(mask, tile + row * target.width + i);
      Type::store(to + i * Type::kBytes, mask, _mm512_mul_ps(x, factor));
    }
  }
}

template <class Type>
void store_columns(const float* tile, float factor, const TileTarget& target) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (int column = 0; column < target.width; column += 16) {
    const int columns = target.width - column < 16 ? target.width - column : 16;
    for (int row = 0; row < target.count; row += 16) {
      __m512i block[16];
      for (int i = 0; i < 16; ++i) {
        block[i] = i < columns ? _mm512_loadu_si512(tile + (column + i) * kTile + row)
                               : _mm512_setzero_si512();
      }
      transpose_16x16(block);
      for (int i = 0; i < 16 && row + i < target.count; ++i) {
        char* to =
            static_cast<char*>(target.data) + ((row + i) * target.stride + column) * Type::kBytes;
        Type::store(to, lanes(columns), _mm512_mul_ps(_mm512_castsi512_ps(block[i]), factors));
      }
    }
  }
}

}  // namespace

const TileOps kAvx512Bf16Tiles = {.name = "avx512",
                                  .bf16_memory = true,
                                  .element_bytes = 2,
                                  .available = has_avx512_bf16,
                                  .pack = &kAvx512Bf16Packing,
                                  .product = tile_gemm_bf16,
                                  .release = tile_gemm_release,
                                  .softmax = softmax<Bf16>,
                                  .query = query_tile_avx512_bf16,
                                  .log_sums = log_sums,
                                  .gradient = gradient<Bf16>,
                                  .store_rows = store_rows<Bf16>,
                                  .store_columns = store_columns<Bf16>};

const TileOps kAvx512Fp32Tiles = {.name = "avx512",
                                  .bf16_memory = false,
                                  .element_bytes = 4,
                                  .available = has_avx512,
                                  .pack = &kAvx512Fp32Packing,
                                  .product = tile_gemm_fp32,
                                  .release = tile_gemm_release,
                                  .softmax = softmax<Fp32>,
                                  .query = query_tile_avx512_fp32,
                                  .log_sums = log_sums,
                                  .gradient = gradient<Fp32>,
                                  .store_rows = store_rows<Fp32>,
                                  .store_columns = store_columns<Fp32>};

}  // namespace alibi
