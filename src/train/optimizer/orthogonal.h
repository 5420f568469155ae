// A matrix made orthogonal, about: directions that differ in length come out alike. A is m x n, or
// b x m x n: each of b matrices by itself; fp32 or fp64; so is the result.
//
// Of a wide matrix the rows come out orthogonal, of a tall one the columns. What is 0 stays 0. Of b
// matrices at once last bits may differ from those of each alone.
#pragma once

#include "device/tensor.h"

namespace alibi {

// Five steps of the Newton-Schulz iteration X <- a X + (b S + c S^2) X, S = X X^T, from A / |A|_F
// (Jordan et al. 2024, "Muon"). Their a, b, c make small singular values
// grow fastest and never settle at 1: those of A above 1/100 of |A|_F come out between 0.68 and
// 1.2. Products and the steps between are rounded to `products`, to which A is cast first.
torch::Tensor newton_schulz(const torch::Tensor& matrix, torch::ScalarType products);

// One pass of Q <- D T^-1 Q, T the lower triangle of Q Q^T, Q the rows of A divided by their
// lengths and D such that the rows have length 1 again (MUD1 of Southworth and Thomas 2026, arXiv
// 2603.17970). Rows that are orthogonal stay as they are.
torch::Tensor decorrelated(const torch::Tensor& matrix);

// Square root of the sum of squares of each matrix, 0-dim or b x 1 x 1.
torch::Tensor frobenius_norm(const torch::Tensor& matrix);

}  // namespace alibi
