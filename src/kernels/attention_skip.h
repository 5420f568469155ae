// Which key blocks of a query block cannot matter.
//
// A key j adds 2^(y_ij) to the sum of row i: y_ij = q_i.k_j scale + slope (j - i) in base 2. By
// Cauchy and Schwarz every key of a block satisfies
//     y_ij <= |q_i| max|k| scale + slope (last key of the block - i)  =: bound_i,
// norms being rounded up by more than the products' own rounding. Let low_i <= log2 of the row's
// sum so far (or of its final sum). If bound_i < low_i - t for every row, the block's weights are
// below 2^-t of the row's sum each. With t = (17 + ln N) log2(e), N the number of keys, all that is
// ever left out of a row adds up to less than e^-17 = 4.1e-8 of its sum, under fp32's half-epsilon
// of 6.0e-8 ("epsilon"). With t = 151 each weight is below 2^-150 relative to the row's reference
// and underflows to zero, so that leaving it out changes no bit ("exact"; there low_i is the
// reference itself, not the larger log-sum).
//
// The claims are of a row's weights. An output then differs by at most 4.1e-8 of the largest value
// it could have taken in (values far away may be larger than near ones), a gradient of q by that
// share of the largest key times dp; gradients of keys that were left out for every row are 0.
// "exact" supposes finite keys and values: 0 times an infinity that is not visited is no NaN here.
//
// With slope > 0 the bias falls towards the past, so where the bound holds with the largest norm of
// this and all earlier blocks ("reach"), it holds for all of them: the walk stops. The bound
// depends on the data: a model that leans on far keys has norms that keep them. Slopes <= 0 void
// it: nothing is skipped.
#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/tile_ops.h"

namespace alibi {

// What is known of the rows of one query block, [64] each and owned by the caller.
struct SkipRows {
  const float* norms;  // |q_i| scale in base 2, rounded up; next to 0 for padding
  const float* low;    // log2 of each row's sum or a lower bound of it; padding: very large
};

struct SkipTest {
  SkipRows rows;
  float slope;      // base 2
  float threshold;  // t
  bool active;

  // Whether no row can gain from a block whose keys have norms up to `key_norm` and end at
  // `last_key`, counted from the first query.
  bool nothing_from(float key_norm, std::int64_t last_key) const;
};

// t of the rule, for rows of up to `keys` keys; negative for kOff.
float skip_threshold(SkipRule rule, std::int64_t keys);

SkipTest make_skip_test(SkipRule rule, std::int64_t keys, float slope, const SkipRows& rows);

}  // namespace alibi
