// The maps of train/optimizer/orthogonal.h as formulas in fp64 that share no step with them.
#pragma once

#include <cmath>

#include "device/libtorch.h"

namespace alibi {

// U p(p(...p(S / |A|)...)) V^T of A = U S V^T, p(s) = a s + b s^3 + c s^5 five times.
inline torch::Tensor polynomial_of_singular_values(const torch::Tensor& matrix) {
  const auto [u, values, vt] = at::linalg_svd(matrix.to(torch::kDouble), /*full_matrices=*/false);
  torch::Tensor s = values / values.square().sum().sqrt();
  for (int step = 0; step < 5; ++step) s = 3.4445 * s - 4.7750 * s.pow(3) + 2.0315 * s.pow(5);
  return u.matmul(torch::diag(s)).matmul(vt);
}

// Gram-Schmidt's look: row i of unit rows q becomes x_i = q_i - sum over j < i of (q_i . q_j) x_j,
// and is then divided by its length. Columns where there are fewer of them.
inline torch::Tensor one_pass_of_mud(const torch::Tensor& matrix) {
  if (matrix.size(0) > matrix.size(1)) return one_pass_of_mud(matrix.t()).t();
  std::vector<torch::Tensor> unit, solved, all;
  for (std::int64_t i = 0; i < matrix.size(0); ++i) {
    const torch::Tensor row = matrix[i].to(torch::kDouble);
    unit.push_back(row / row.square().sum().sqrt());
    solved.push_back(unit.back().clone());
    for (std::size_t j = 0; j < static_cast<std::size_t>(i); ++j)
      solved.back() -= (unit.back() * unit[j]).sum() * solved[j];
    all.push_back(solved.back() / solved.back().square().sum().sqrt());
  }
  return torch::stack(all);
}

}  // namespace alibi
