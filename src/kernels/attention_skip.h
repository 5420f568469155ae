// Which key blocks of a query block cannot matter.
//
// A key j adds 2^(y_ij) to the sum of row i: y_ij = q_i.k_j scale + bias_ij in base 2. By Cauchy
// and Schwarz every key of a block satisfies
//     y_ij <= |q_i| max|k| scale + (largest bias of the row in the block)  =: bound_i,
// norms being rounded up by more than the products' own rounding. With d the distance from row i to
// the block's last key, the nearest one, no bias of the block is larger than
//     - slope d + (largest number of the table from d on) + c_i - (least c of the block).
// Let low_i <= log2 of the row's
// sum so far (or of its final sum). If bound_i < low_i - t for every row, the block's weights are
// below 2^-t of the row's sum each. With t = (17 + ln N) log2(e), N the number of keys, all that is
// ever left out of a row adds up to less than e^-17 = 4.1e-8 of its sum, under fp32's half-epsilon
// of 6.0e-8 ("epsilon"). With t = 151 each weight is below 2^-150 relative to the row's reference
// and underflows to zero, so that leaving it out changes no bit ("exact"; there low_i is the
// reference itself, not the larger log-sum).
//
// The claims are of a row's weights. An output then differs by at most 4.1e-8 of the largest value
// it could have taken in (values far away may be larger than near ones), a gradient of q by that
// share of the largest key times dp; gradients of keys that were left out for every row are 0. A
// slope's gradient weighs what is left out by its distance: up to e^-17 times that of its row.
// "exact" supposes finite keys and values: 0 times an infinity that is not visited is no NaN here.
//
// Where the bound holds with the largest norm and the least c of this and all earlier blocks
// ("reach"), it holds for all of them, since slope >= 0 and the table counts from d on: the walk
// stops. The bound depends on the data: a model that leans on far keys has norms that keep them. A
// bias that does not fall, such as a flat table, leaves little or nothing out. Slopes below 0, and
// 0 with nothing else, void it: nothing is skipped.
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

// What bounds a head's bias, base 2.
struct BiasBound {
  float slope = 0;
  const float* reach = nullptr;  // [distances] largest number of the table from each distance on
  std::int64_t distances = 0;
  const float* queries = nullptr;  // [64] each row's c, from any origin
};

// What is known of a block of keys.
struct KeyBound {
  float norm = 0;             // its keys' are no larger
  std::int64_t last_key = 0;  // counted from the first query
  float term = 0;             // - the least c, from the rows' origin, base 2
};

struct SkipTest {
  SkipRows rows;
  BiasBound bias;
  float threshold;  // t
  bool active;

  // Whether no row can gain from such a block.
  bool nothing_from(const KeyBound& keys) const;

 private:
  bool nothing_by_slope(const KeyBound& keys) const;
  bool nothing_by_all_forms(const KeyBound& keys) const;
  float beyond_slope(int row, const KeyBound& keys) const;
};

// t of the rule, for rows of up to `keys` keys; negative for kOff.
float skip_threshold(SkipRule rule, std::int64_t keys);

SkipTest make_skip_test(SkipRule rule, std::int64_t keys, const BiasBound& bias,
                        const SkipRows& rows);

}  // namespace alibi
