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

template <class Type>
void dots(const TileRows& x, const TileRows& y, float* out) {
  for (int row = 0; row < kTile; ++row) {
    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; row < x.count && i < x.width; i += 16) {
      const __mmask16 mask = lanes(x.width - i);
      const auto load = [&](const TileRows& of) {
        return Type::load(at_row(of, row, Type::kBytes) + i * Type::kBytes, mask);
      };
      sum = _mm512_fmadd_ps(load(x), load(y), sum);
    }
    out[row] = _mm512_reduce_add_ps(sum);
  }
}

template <class Type>
void norms(const TileRows& x, float* out) {
  dots<Type>(x, x, out);
  for (int i = 0; i < kTile; i += 16) {
    const __m512 root = _mm512_sqrt_ps(_mm512_loadu_ps(out + i));
    _mm512_storeu_ps(out + i, _mm512_mul_ps(root, _mm512_set1_ps(kNormSlack)));
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
