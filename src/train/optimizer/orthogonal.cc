#include "train/optimizer/orthogonal.h"

#include "device/libtorch.h"

namespace alibi {
namespace {

constexpr double kSmallestNorm = 1e-7;  // what is divided by: a matrix of zeros stays one

bool is_tall(const torch::Tensor& matrix) { return matrix.size(-2) > matrix.size(-1); }

// The smaller size first: products are of that size.
torch::Tensor wide(const torch::Tensor& matrix) {
  return is_tall(matrix) ? matrix.mT().contiguous() : matrix;
}

// Several one behind the other: lists of them are taken in few operators only where they lie in
// memory as the weights do.
torch::Tensor as_given(const torch::Tensor& wide, const torch::Tensor& matrix) {
  const torch::Tensor given = (is_tall(matrix) ? wide.mT() : wide).to(matrix.scalar_type());
  return matrix.dim() == 2 ? given : given.contiguous();
}

torch::Tensor with_unit_rows(const torch::Tensor& matrix) {
  return matrix / matrix.norm(2, /*dim=*/-1, /*keepdim=*/true).clamp_min(kSmallestNorm);
}

// base_factor * base + factor * one other.
torch::Tensor sum_of_product(const torch::Tensor& base, double base_factor,
                             const torch::Tensor& one, const torch::Tensor& other, double factor) {
  return base.dim() == 2 ? torch::addmm(base, one, other, base_factor, factor)
                         : torch::baddbmm(base, one, other, base_factor, factor);
}

}  // namespace

torch::Tensor frobenius_norm(const torch::Tensor& matrix) {
  return matrix.dim() == 2 ? matrix.norm() : matrix.norm(2, {-2, -1}, /*keepdim=*/true);
}

torch::Tensor newton_schulz(const torch::Tensor& matrix, torch::ScalarType products) {
  constexpr int kSteps = 5;
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  torch::Tensor x = (wide(matrix) / frobenius_norm(matrix).clamp_min(kSmallestNorm)).to(products);
  for (int step = 0; step < kSteps; ++step) {
    const torch::Tensor square = torch::matmul(x, x.mT());
    const torch::Tensor factor = sum_of_product(square, kB, square, square, kC);
    x = sum_of_product(x, kA, factor, x, 1);
  }
  return as_given(x, matrix);
}

// T's diagonal is 1, or 0 where a row is: taken as 1, the solve divides by nothing.
torch::Tensor decorrelated(const torch::Tensor& matrix) {
  const torch::Tensor rows = with_unit_rows(wide(matrix));
  const torch::Tensor lower = torch::matmul(rows, rows.mT()).tril();
  const torch::Tensor solved =
      at::linalg_solve_triangular(lower, rows, /*upper=*/false, /*left=*/true,
                                  /*unitriangular=*/true);
  return as_given(with_unit_rows(solved), matrix);
}

}  // namespace alibi
