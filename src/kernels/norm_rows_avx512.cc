#include "kernels/avx512.h"
#include "kernels/norm_rows.h"

namespace alibi {
namespace {

// Calls each(column, mask) for every 16 columns.
template <class Each>
void for_lanes(std::int64_t width, const Each& each) {
  const std::int64_t whole = width / 16 * 16;
  for (std::int64_t i = 0; i < whole; i += 16) each(i, __mmask16{0xffff});
  if (whole < width) each(whole, lanes(width - whole));
}

// The row's numbers less its mean, over its deviation.
struct Centred {
  __m512 mean, reciprocal;
  __m512 operator()(__m512 x) const { return _mm512_mul_ps(_mm512_sub_ps(x, mean), reciprocal); }
};

Centred centred(const NormRows& of, std::int64_t row) {
  return {_mm512_set1_ps(of.mean[row]), _mm512_set1_ps(of.reciprocal[row])};
}

// Mean first, then squares of differences: sums of squares alone would cancel.
void measure(const NormRows& of, std::int64_t row, float epsilon) {
  const std::uint16_t* x = of.x + row * of.width;
  const auto count = static_cast<float>(of.width);
  __m512 sum = _mm512_setzero_ps(), squares = _mm512_setzero_ps();
  for_lanes(of.width, [&](std::int64_t i, __mmask16 mask) {
    sum = _mm512_add_ps(sum, Bf16::load(x + i, mask));
  });
  of.mean[row] = _mm512_reduce_add_ps(sum) / count;
  const __m512 mean = _mm512_set1_ps(of.mean[row]);
  for_lanes(of.width, [&](std::int64_t i, __mmask16 mask) {
    const __m512 off = _mm512_maskz_sub_ps(mask, Bf16::load(x + i, mask), mean);
    squares = _mm512_fmadd_ps(off, off, squares);
  });
  const float variance = _mm512_reduce_add_ps(squares) / count;
  of.reciprocal[row] = 1.0F / __builtin_sqrtf(variance + epsilon);
}

// Sums over a row that its gradient needs; adds the row's share to those of gains and biases.
struct RowSums {
  float plain, weighted;  // of dy w, and of dy w times the normed x
};

RowSums sum_row(const NormRows& of, const NormRowGradients& g, std::int64_t row) {
  const std::uint16_t *x = of.x + row * of.width, *dy = g.dy + row * of.width;
  const Centred normed = centred(of, row);
  __m512 plain = _mm512_setzero_ps(), weighted = _mm512_setzero_ps();
  for_lanes(of.width, [&](std::int64_t i, __mmask16 mask) {
    const __m512 down = Bf16::load(dy + i, mask), at = normed(Bf16::load(x + i, mask));
    const __m512 share = _mm512_mul_ps(down, _mm512_maskz_loadu_ps(mask, of.weight + i));
    plain = _mm512_add_ps(plain, share);
    weighted = _mm512_fmadd_ps(share, at, weighted);
    const __m512 before = _mm512_maskz_loadu_ps(mask, g.dweight + i);
    _mm512_mask_storeu_ps(g.dweight + i, mask, _mm512_fmadd_ps(down, at, before));
    if (g.dbias != nullptr)
      _mm512_mask_storeu_ps(g.dbias + i, mask,
                            _mm512_add_ps(down, _mm512_maskz_loadu_ps(mask, g.dbias + i)));
  });
  return {_mm512_reduce_add_ps(plain), _mm512_reduce_add_ps(weighted)};
}

void store_gradient(const NormRows& of, const NormRowGradients& g, std::int64_t row,
                    const RowSums& sums) {
  const std::int64_t at = row * of.width;
  const auto count = static_cast<float>(of.width);
  const Centred normed = centred(of, row);
  const __m512 plain = _mm512_set1_ps(sums.plain / count);
  const __m512 weighted = _mm512_set1_ps(sums.weighted / count);
  for_lanes(of.width, [&](std::int64_t i, __mmask16 mask) {
    const __m512 share =
        _mm512_mul_ps(Bf16::load(g.dy + at + i, mask), _mm512_maskz_loadu_ps(mask, of.weight + i));
    const __m512 along = _mm512_mul_ps(normed(Bf16::load(of.x + at + i, mask)), weighted);
    const __m512 rest = _mm512_sub_ps(_mm512_sub_ps(share, plain), along);
    const __m512 added =
        g.added != nullptr ? Bf16::load(g.added + at + i, mask) : _mm512_setzero_ps();
    Bf16::store(g.dx + at + i, mask, _mm512_fmadd_ps(rest, normed.reciprocal, added));
  });
}

}  // namespace

void norm_rows_bf16(const NormRows& of, float epsilon, std::uint16_t* y) {
  for (std::int64_t row = 0; row < of.rows; ++row) {
    measure(of, row, epsilon);
    const Centred normed = centred(of, row);
    const std::int64_t at = row * of.width;
    for_lanes(of.width, [&](std::int64_t i, __mmask16 mask) {
      const __m512 bias =
          of.bias != nullptr ? _mm512_maskz_loadu_ps(mask, of.bias + i) : _mm512_setzero_ps();
      const __m512 gain = _mm512_maskz_loadu_ps(mask, of.weight + i);
      Bf16::store(y + at + i, mask,
                  _mm512_fmadd_ps(normed(Bf16::load(of.x + at + i, mask)), gain, bias));
    });
  }
}

void norm_rows_backward_bf16(const NormRows& of, const NormRowGradients& g) {
  for (std::int64_t row = 0; row < of.rows; ++row) store_gradient(of, g, row, sum_row(of, g, row));
}

}  // namespace alibi
