#include "train/optimizer/orthogonal.h"

#include "device/libtorch.h"

namespace alibi {
namespace {

constexpr double kSmallestNorm = 1e-7;  // what is divided by: a matrix of zeros stays one

bool is_tall(const torch::Tensor& matrix) { return matrix.size(0) > matrix.size(1); }

// The smaller size first: products are of that size.
torch::Tensor wide(const torch::Tensor& matrix) {
  return is_tall(matrix) ? matrix.t().contiguous() : matrix;
}

torch::Tensor as_given(const torch::Tensor& wide, const torch::Tensor& matrix) {
  return (is_tall(matrix) ? wide.t() : wide).to(matrix.scalar_type());
}

torch::Tensor with_unit_rows(const torch::Tensor& matrix) {
  return matrix / matrix.norm(2, /*dim=*/1, /*keepdim=*/true).clamp_min(kSmallestNorm);
}

}  // namespace

torch::Tensor newton_schulz(const torch::Tensor& matrix, torch::ScalarType products) {
  constexpr int kSteps = 5;
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  torch::Tensor x = (wide(matrix) / matrix.norm().clamp_min(kSmallestNorm)).to(products);
  for (int step = 0; step < kSteps; ++step) {
    const torch::Tensor square = torch::mm(x, x.t());
    const torch::Tensor factor = torch::addmm(square, square, square, kB, kC);
    x = torch::addmm(x, factor, x, kA);
  }
  return as_given(x, matrix);
}

// T's diagonal is 1, or 0 where a row is: taken as 1, the solve divides by nothing.
torch::Tensor decorrelated(const torch::Tensor& matrix) {
  const torch::Tensor rows = with_unit_rows(wide(matrix));
  const torch::Tensor lower = torch::mm(rows, rows.t()).tril();
  const torch::Tensor solved =
      at::linalg_solve_triangular(lower, rows, /*upper=*/false, /*left=*/true,
                                  /*unitriangular=*/true);
  return as_given(with_unit_rows(solved), matrix);
}

}  // namespace alibi
