// Every position method, side by side. Each acts at one of three places: on the embeddings, on
// queries and keys, or on the attention scores.
#pragma once

#include <vector>

#include "config/config.h"
#include "device/tensor.h"
#include "kernels/attention.h"

namespace alibi {

enum class PositionPlace { kNowhere, kEmbeddings, kQueriesAndKeys, kScores };

// What other parts must know about a method without naming it.
struct PositionTraits {
  PositionPlace place;
  bool has_length_limit;   // cannot see past its table
  bool scales_embeddings;  // token embeddings times sqrt(width), as sinusoidal models are trained
  ScoreBias bias;
};
const PositionTraits& position_traits(Position method);

// ALiBi's slopes, one per head. kGeometric: 2^(-bias_max i / heads), i = 1..heads, for any count
// (Press et al. 2021, section 3). kPress: the same for powers of two; other counts take the list of
// the next lower power of two, then every other slope of the doubled list, in the published
// reference order. kEqual: the geometric list's geometric mean, for every head.
std::vector<double> slopes_by_rule(SlopeRule rule, std::int64_t heads, double bias_max);
// Drawn from the exponential distribution with the geometric list's mean, steepest first (Press et
// al. 2021, section 3, tried drawn slopes without naming a scale).
std::vector<double> exponential_slopes(std::int64_t heads, double bias_max, std::uint64_t seed);
// The explicit list, or by rule for the biased heads and 0 for the others.
std::vector<double> alibi_slopes(const ModelConfig& model);

// Rows first .. first+T-1 of Vaswani et al. 2017, section 3.5, sines in the first half of the
// columns and cosines in the second: fp32 (T, C).
torch::Tensor sinusoidal_rows(std::int64_t first, std::int64_t rows, std::int64_t width,
                              torch::Device device);

// How rotary positions turn: pair c by `frequencies[c]` radians a position, D/2 of them; the result
// times `magnitude`.
struct Rotation {
  std::vector<double> frequencies;
  double magnitude = 1;
};
Rotation rotation(std::int64_t width, double base);  // base^(-2c / D) (Su et al. 2021, eq. 34)

// Rotates pairs (c, c + D/2) of x_BHTD by its row's position; angles in fp64, the rotation in fp32
// (fp64 where x is), result in x's type.
torch::Tensor rotate(const torch::Tensor& x_BHTD, std::int64_t first, const Rotation& rotation);

// Bucket of each distance d >= 0 (int64, any shape): exact below half, then logarithmic up to
// max_distance, the last bucket open (Raffel et al. 2020, section 2.1; causal form).
torch::Tensor t5_bucket(const torch::Tensor& distance, std::int64_t buckets,
                        std::int64_t max_distance);

}  // namespace alibi
