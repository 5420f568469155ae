// Packing of tiles for AVX-512: 16 x 16 transposes of dwords, which are fp32 numbers or bf16 pairs.
#include "kernels/avx512.h"

namespace alibi {
namespace {

// Calls put(column, first row, 16 dwords) for every column of dwords of the 64 rows.
template <class Put>
void for_columns(const TileRows& x, int bytes, Put put) {
  const int dwords = x.width * bytes / 4;
  for (int row = 0; row < kTile; row += 16) {
    for (int column = 0; column < dwords; column += 16) {
      const __mmask16 mask = lanes(dwords - column);
      __m512i block[16];
      for (int i = 0; i < 16; ++i) {
        block[i] = row + i < x.count
                       ? _mm512_maskz_loadu_epi32(mask, at_row(x, row + i, bytes) + column * 4)
                       : _mm512_setzero_si512();
      }
      transpose_16x16(block);
      for (int i = 0; i < 16 && column + i < dwords; ++i) put(column + i, row, block[i]);
    }
  }
}

template <class Type>
void pack_columns(const TileRows& x, void* out) {
  auto* dwords = static_cast<std::int32_t*>(out);
  for_columns(x, Type::kBytes, [&](int column, int row, __m512i value) {
    _mm512_storeu_si512(dwords + column * kTile + row, value);
  });
}

void pack_transposed_bf16(const TileRows& x, void* out) {
  auto* words = static_cast<std::int16_t*>(out);
  for_columns(x, 2, [&](int column, int row, __m512i value) {
    auto* even = words + 2 * column * kTile + row;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(even), _mm512_cvtepi32_epi16(value));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(even + kTile),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(value, 16)));
  });
}

template <class Type>
void pack_rows(const TileRows& x, void* out) {
  const int dwords = x.width * Type::kBytes / 4;
  auto* to = static_cast<std::int32_t*>(out);
  for (int row = 0; row < kTile; ++row, to += dwords) {
    for (int i = 0; i < dwords; i += 16) {
      const __mmask16 mask = lanes(dwords - i);
      const __m512i value =
          row < x.count ? _mm512_maskz_loadu_epi32(mask, at_row(x, row, Type::kBytes) + i * 4)
                        : _mm512_setzero_si512();
      _mm512_mask_storeu_epi32(to + i, mask, value);
    }
  }
}

void pack_pairs_bf16(const TileRows& x, void* out) {
  auto* to = static_cast<std::int32_t*>(out);
  for (int row = 0; row < kTile; row += 2, to += x.width) {
    for (int i = 0; i < x.width; i += 16) {
      const __mmask16 mask = lanes(x.width - i);
      const auto load = [&](int r) {
        return r < x.count ? _mm256_maskz_loadu_epi16(mask, at_row(x, r, 2) + i * 2)
                           : _mm256_setzero_si256();
      };
      _mm512_mask_storeu_epi32(to + i, mask, interleave(load(row), load(row + 1)));
    }
  }
}

// Sum of products of two rows, 16 lanes wide.
__m512 row_product(Fp32, const char* x, const char* y, int width) {
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < width; i += 16) {
    const __mmask16 mask = lanes(width - i);
    sum = _mm512_fmadd_ps(Fp32::load(x + 4 * i, mask), Fp32::load(y + 4 * i, mask), sum);
  }
  return sum;
}

// Products below 2^-126 count as 0.
__m512 row_product(Bf16, const char* x, const char* y, int width) {
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < width; i += 32) {
    const __mmask16 mask = lanes((width - i) / 2);
    const auto load = [&](const char* row) {
      return (__m512bh)_mm512_maskz_loadu_epi32(mask, row + 2 * i);
    };
    sum = _mm512_dpbf16_ps(sum, load(x), load(y));
  }
  return sum;
}

// Sixteen rows at a time: one transpose in place of sixteen sums across lanes.
template <class Type>
void dots(const TileRows& x, const TileRows& y, float* out) {
  for (int first = 0; first < kTile; first += 16) {
    __m512i sums[16];
    for (int i = 0; i < 16; ++i) {
      const int row = first + i;
      sums[i] = row < x.count
                    ? _mm512_castps_si512(row_product(Type{}, at_row(x, row, Type::kBytes),
                                                      at_row(y, row, Type::kBytes), x.width))
                    : _mm512_setzero_si512();
    }
    transpose_16x16(sums);
    _mm512_storeu_ps(out + first, sum_of(sums));
  }
}

template <class Type>
void norms(const TileRows& x, float* out) {
  dots<Type>(x, x, out);
  for (int i = 0; i < kTile; i += 16) {
    const __m512 root = _mm512_sqrt_ps(_mm512_loadu_ps(out + i));
    _mm512_storeu_ps(out + i,
                     _mm512_fmadd_ps(root, _mm512_set1_ps(kNormSlack), _mm512_set1_ps(kNormFloor)));
  }
}

template <class Type>
constexpr TilePacking kCommon = {.rows = pack_rows<Type>,
                                 .transposed = pack_columns<Type>,
                                 .columns = pack_columns<Type>,
                                 .pairs = pack_rows<Type>,
                                 .norms = norms<Type>,
                                 .dots = dots<Type>};

constexpr TilePacking bf16_packing() {
  TilePacking packing = kCommon<Bf16>;
  packing.transposed = pack_transposed_bf16;
  packing.pairs = pack_pairs_bf16;
  return packing;
}

}  // namespace

const TilePacking kAvx512Bf16Packing = bf16_packing();
const TilePacking kAvx512Fp32Packing = kCommon<Fp32>;

}  // namespace alibi
