#include "kernels/packed_product.h"

#include "kernels/avx512.h"
#include "kernels/tile_gemm.h"

namespace alibi {
namespace {

// A piece of the sums that stays in the level-2 cache with 256 rows of the left operand.
constexpr std::int64_t kDepth = 512;
// Panels whose sums are kept at once when the depth comes in pieces.
constexpr std::int64_t kPanelsKept = 8;

std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
std::int64_t even(std::int64_t x) { return x + (x & 1); }

std::int64_t panel_values(std::int64_t depth) { return even(depth) * kPanel; }

// 16 numbers as bf16.
__m256i narrow_16(const float* x, __mmask16 mask) {
  return Bf16::narrow(_mm512_maskz_loadu_ps(mask, x));
}
__m256i narrow_16(const std::uint16_t* x, __mmask16 mask) {
  return _mm256_maskz_loadu_epi16(mask, x);
}

// Packs rows of x, each 16 numbers as `change` leaves them.
template <class Number, class Change>
void pack_all_panels(const Matrix<const Number>& x, std::int64_t first, std::int64_t count,
                     void* packed, const Change& change) {
  const std::int64_t values = panel_values(x.rows);
  for (std::int64_t row = first; row < first + count; row += 2) {
    auto* out = static_cast<std::uint16_t*>(packed) + row * kPanel;
    for (std::int64_t column = 0; column < x.columns; column += kPanel, out += values) {
      const std::int64_t columns = smaller(kPanel, x.columns - column);
      const Number* upper = x.data + row * x.stride + column;
      const Number* lower = row + 1 < x.rows ? upper + x.stride : nullptr;
      for (std::int64_t i = 0; i < kPanel; i += 16) {
        const __mmask16 mask = i < columns ? lanes(columns - i) : __mmask16{0};
        const __m256i even = change(narrow_16(upper + i, mask));
        const __m256i odd =
            lower != nullptr ? change(narrow_16(lower + i, mask)) : _mm256_setzero_si256();
        _mm512_storeu_si512(out + 2 * i, interleave(even, odd));
      }
    }
  }
}

__m256i as_it_is(__m256i x) { return x; }
__m256i gelu_of(__m256i x) { return Bf16::narrow(gelu(Bf16::widen(x))); }

// Row `row` of w as 16 pairs from column `column` on.
__m512i pairs(const Matrix<const float>& w, std::int64_t row, std::int64_t column) {
  if (row >= w.rows) return _mm512_setzero_si512();
  const float* x = w.data + row * w.stride + column;
  const std::int64_t left = w.columns - column;
  const __m512 low = _mm512_maskz_loadu_ps(lanes(left), x);
  const __m512 high =
      left > 16 ? _mm512_maskz_loadu_ps(lanes(left - 16), x + 16) : _mm512_setzero_ps();
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

// Sizes for which code is generated: 256, 128, 64, 32, 16 rows and fewer than 16.
std::int64_t rows_at_once(std::int64_t left) {
  for (std::int64_t rows = kBlockRows; rows >= 16; rows /= 2)
    if (left >= rows) return rows;
  return left;
}

// Rows that are read soon, too far apart for the processor to foresee.
void prefetch_rows(const Matrix<const std::uint16_t>& x, std::int64_t first, std::int64_t rows,
                   std::int64_t column, std::int64_t columns) {
  for (std::int64_t row = first; row < smaller(first + rows, x.rows); ++row)
    for (std::int64_t i = 0; i < columns; i += 32)
      _mm_prefetch(reinterpret_cast<const char*>(x.data + row * x.stride + column + i),
                   _MM_HINT_T0);
}

// A panel with whatever is done to it, in registers, so that the numbers of several rows are on
// their way at once; kWhole: none of its columns is lacking, which is nearly all there is, and
// needs no mask. (Stores past the caches were no faster in a whole step: what is stored is read
// soon.)
template <bool kWhole, bool kGelu, bool kSlope>
void store_panel(const PackedProduct& p, const float* panel, const ProductBlock& block,
                 std::int64_t column) {
  const std::int64_t columns = kWhole ? kPanel : p.out.columns - column;
  const auto mask = [&](std::int64_t i) {
    return kWhole ? __mmask16{0xffff} : i < columns ? lanes(columns - i) : __mmask16{0};
  };
  const auto store = [&](std::uint16_t* to, std::int64_t i, __m512i x) {
    if (kWhole)
      _mm512_storeu_si512(to, x);
    else
      _mm512_mask_storeu_epi16(to, _mm512_kunpackw(mask(i + 16), mask(i)), x);
  };
  const auto by_halves = [](__m512i x, const auto& change) {
    const __m256i low = change(_mm512_castsi512_si256(x), 0);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low),
                              change(_mm512_extracti64x4_epi64(x, 1), 16), 1);
  };
  std::int64_t at = block.first_row * p.out.stride + column;
  for (std::int64_t row = 0; row < block.rows; ++row, panel += kPanel, at += p.out.stride) {
    const auto sum = [&](std::int64_t i) {
      __m512 x = _mm512_loadu_ps(panel + i);
      if (p.bias != nullptr)
        x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(mask(i), p.bias + column + i));
      if (p.base != nullptr) x = _mm512_add_ps(x, Bf16::load(p.base + at + i, mask(i)));
      return x;
    };
    for (std::int64_t i = 0; i < columns; i += 32) {
      auto out = (__m512i)_mm512_cvtne2ps_pbh(sum(i + 16), sum(i));
      if (kSlope)
        out = by_halves(out, [&](__m256i x, std::int64_t half) {
          const __m512 before = Bf16::load(p.gelu_gradient_at + at + i + half, mask(i + half));
          return Bf16::narrow(_mm512_mul_ps(Bf16::widen(x), gelu_slope(before)));
        });
      if (kGelu) {
        if (p.before != nullptr) store(p.before + at + i, i, out);
        out = by_halves(out, [](__m256i x, std::int64_t) { return gelu_of(x); });
      }
      store(p.out.data + at + i, i, out);
    }
  }
}

template <bool kWhole>
void store_as_asked(const PackedProduct& p, const float* panel, const ProductBlock& block,
                    std::int64_t column) {
  if (p.gelu)
    store_panel<kWhole, true, false>(p, panel, block, column);
  else if (p.gelu_gradient_at != nullptr)
    store_panel<kWhole, false, true>(p, panel, block, column);
  else
    store_panel<kWhole, false, false>(p, panel, block, column);
}

void store_sums(const PackedProduct& p, const float* panel, const ProductBlock& block,
                std::int64_t column) {
  const std::int64_t columns = smaller(kPanel, p.out.columns - column);
  for (std::int64_t row = 0; row < block.rows; ++row, panel += kPanel) {
    float* to = p.sums + (block.first_row + row) * p.out.stride + column;
    for (std::int64_t i = 0; i < columns; i += 16)
      Fp32::store(to + i, lanes(columns - i), _mm512_loadu_ps(panel + i));
  }
}

// Up to 256 rows by up to 8 panels.
void product_piece(const PackedProduct& p, const ProductBlock& block, float* sums) {
  const std::int64_t values = panel_values(p.left.columns), depth = p.left.columns;
  const auto prefetch = [&](const std::uint16_t* soon) {
    if (soon == nullptr) return;
    prefetch_rows({soon, p.out.rows, p.out.columns, p.out.stride}, block.first_row, block.rows,
                  block.first_panel * kPanel, block.panels * kPanel);
  };
  prefetch(p.gelu_gradient_at);
  prefetch(p.base);
  for (std::int64_t k = 0; k < depth; k += kDepth) {
    for (std::int64_t i = 0; i < block.panels; ++i) {
      const auto* panel =
          static_cast<const std::uint16_t*>(p.right) + (block.first_panel + i) * values;
      tile_gemm_bf16({.m = block.rows,
                      .n = kPanel,
                      .k = smaller(kDepth, depth - k),
                      .a = p.left.data + block.first_row * p.left.stride + k,
                      .b = panel + k * kPanel,
                      .c = sums + i * block.rows * kPanel,
                      .add = k > 0,
                      .a_stride = p.left.stride});
    }
  }
  for (std::int64_t i = 0; i < block.panels; ++i) {
    const float* panel = sums + i * block.rows * kPanel;
    const std::int64_t column = (block.first_panel + i) * kPanel;
    if (p.sums != nullptr)
      store_sums(p, panel, block, column);
    else if (column + kPanel <= p.out.columns)
      store_as_asked<true>(p, panel, block, column);
    else
      store_as_asked<false>(p, panel, block, column);
  }
}

// out[o][n] = gradient[first_row + n][first_output + o]; rows of even(rows) numbers.
void transpose_gradient(const Matrix<const std::uint16_t>& g, const ProductBlock& part,
                        std::int64_t first_output, std::int64_t outputs, std::uint16_t* out) {
  const std::int64_t stride = even(part.rows);
  for (std::int64_t n = 0; n < stride; n += 32) {
    prefetch_rows(g, part.first_row + n + 32, 32, first_output, outputs);
    for (std::int64_t o = 0; o < outputs; o += 16) {
      const __mmask16 mask = lanes(outputs - o);
      __m512i block[16];
      for (std::int64_t i = 0; i < 16; ++i) {
        const auto row = [&](std::int64_t r) {
          return r < part.rows
                     ? _mm256_maskz_loadu_epi16(
                           mask, g.data + (part.first_row + r) * g.stride + first_output + o)
                     : _mm256_setzero_si256();
        };
        block[i] = interleave(row(n + 2 * i), row(n + 2 * i + 1));
      }
      transpose_16x16(block);
      const __mmask16 kept = lanes((stride - n) / 2);
      for (std::int64_t i = 0; i < 16 && o + i < outputs; ++i)
        _mm512_mask_storeu_epi32(out + (o + i) * stride + n, kept, block[i]);
    }
  }
}

}  // namespace

std::int64_t packed_bytes(std::int64_t depth, std::int64_t columns) {
  return (columns + kPanel - 1) / kPanel * panel_values(depth) * 2;
}

void pack_transposed(const Matrix<const float>& w, std::int64_t panel, void* packed) {
  auto* out = static_cast<std::uint16_t*>(packed) + panel * panel_values(w.columns);
  for (std::int64_t row = 0; row < kPanel; row += 16) {
    for (std::int64_t column = 0; column < w.columns; column += 32) {
      __m512i block[16];
      for (int i = 0; i < 16; ++i) block[i] = pairs(w, panel * kPanel + row + i, column);
      transpose_16x16(block);
      for (std::int64_t i = 0; i < 16 && column + 2 * i < w.columns; ++i)
        _mm512_storeu_si512(out + (column + 2 * i) * kPanel + row * 2, block[i]);
    }
  }
}

void pack_rows(const Matrix<const float>& x, std::int64_t first, std::int64_t count, void* packed) {
  pack_all_panels(x, first, count, packed, as_it_is);
}

void pack_rows(const Matrix<const std::uint16_t>& x, std::int64_t first, std::int64_t count,
               void* packed) {
  pack_all_panels(x, first, count, packed, as_it_is);
}

void pack_gelu_rows(const Matrix<const std::uint16_t>& x, std::int64_t first, std::int64_t count,
                    void* packed) {
  pack_all_panels(x, first, count, packed, gelu_of);
}

std::int64_t product_scratch_bytes() { return kBlockRows * kPanel * kPanelsKept * 4; }

void product_block(const PackedProduct& p, const ProductBlock& block, void* scratch) {
  const std::int64_t kept = p.left.columns > kDepth ? kPanelsKept : 1;
  const std::int64_t end_row = block.first_row + block.rows;
  const std::int64_t end_panel = block.first_panel + block.panels;
  for (std::int64_t row = block.first_row; row < end_row;) {
    const std::int64_t rows = rows_at_once(end_row - row);
    for (std::int64_t panel = block.first_panel; panel < end_panel; panel += kept)
      product_piece(p, {row, rows, panel, smaller(kept, end_panel - panel)},
                    static_cast<float*>(scratch));
    row += rows;
  }
}

std::int64_t weight_gradient_scratch_bytes() { return kBlockRows * kDepth * 2; }

void weight_gradient_block(const WeightGradient& p, std::int64_t first, std::int64_t count,
                           void* scratch) {
  const std::int64_t values = panel_values(p.gradient.rows);
  auto* left = static_cast<std::uint16_t*>(scratch);
  for (std::int64_t n = 0; n < p.gradient.rows; n += kDepth) {
    const std::int64_t rows = smaller(kDepth, p.gradient.rows - n);
    transpose_gradient(p.gradient, {n, rows, 0, 0}, first, count, left);
    for (std::int64_t column = 0; column < p.out.columns; column += kPanel) {
      tile_gemm_bf16(
          {.m = count,
           .n = kPanel,
           .k = even(rows),
           .a = left,
           .b = static_cast<const std::uint16_t*>(p.inputs) + column / kPanel * values + n * kPanel,
           .c = p.out.data + first * p.out.stride + column,
           .add = p.add || n > 0,
           .c_stride = p.out.stride});
    }
  }
}

}  // namespace alibi
