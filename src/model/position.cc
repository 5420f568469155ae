#include "model/position.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

std::vector<double> geometric(std::int64_t count, double bias_max) {
  std::vector<double> slopes;
  for (std::int64_t i = 1; i <= count; ++i) {
    slopes.push_back(std::exp2(-bias_max * static_cast<double>(i) / static_cast<double>(count)));
  }
  return slopes;
}

}  // namespace

const PositionTraits& position_traits(Position method) {
  static const PositionTraits alibi{PositionPlace::kScores, false, false, ScoreBias::kLinear};
  static const PositionTraits sinusoidal{PositionPlace::kEmbeddings, false, true, ScoreBias::kNone};
  static const PositionTraits learned{PositionPlace::kEmbeddings, true, false, ScoreBias::kNone};
  static const PositionTraits rotary{PositionPlace::kQueriesAndKeys, false, false,
                                     ScoreBias::kNone};
  static const PositionTraits t5{PositionPlace::kScores, false, false, ScoreBias::kBuckets};
  static const PositionTraits none{PositionPlace::kNowhere, false, false, ScoreBias::kNone};
  switch (method) {
    case Position::kAlibi:
      return alibi;
    case Position::kSinusoidal:
      return sinusoidal;
    case Position::kLearned:
      return learned;
    case Position::kRotary:
      return rotary;
    case Position::kT5:
      return t5;
    case Position::kNone:
      return none;
  }
  return none;
}

std::vector<double> exponential_slopes(std::int64_t heads, double bias_max, std::uint64_t seed) {
  const std::vector<double> rule = geometric(heads, bias_max);
  const double mean = std::accumulate(rule.begin(), rule.end(), 0.0) / static_cast<double>(heads);
  const RandomKey key = RandomKey{seed}.with("slopes");
  std::vector<double> slopes;
  for (std::int64_t h = 0; h < heads; ++h)
    slopes.push_back(-mean * std::log1p(-uniform(key, static_cast<std::uint64_t>(h))));
  std::sort(slopes.begin(), slopes.end(), std::greater<>());
  return slopes;
}

std::vector<double> slopes_by_rule(SlopeRule rule, std::int64_t heads, double bias_max) {
  ensure(heads > 0, "a model has heads");
  ensure(rule != SlopeRule::kExponential, "drawn slopes have a seed");
  if (rule == SlopeRule::kEqual) {
    const auto n = static_cast<double>(heads);
    return std::vector<double>(static_cast<std::size_t>(heads),
                               std::exp2(-bias_max * (n + 1) / (2 * n)));
  }
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  if (rule == SlopeRule::kGeometric || below == heads) return geometric(heads, bias_max);
  std::vector<double> slopes = geometric(below, bias_max);
  const std::vector<double> doubled = geometric(2 * below, bias_max);
  for (std::size_t i = 0; static_cast<std::int64_t>(slopes.size()) < heads; i += 2)
    slopes.push_back(doubled[i]);
  return slopes;
}

std::vector<double> alibi_slopes(const ModelConfig& model) {
  if (!model.slopes.empty()) return model.slopes;
  const std::int64_t heads = model.biased_heads.value_or(model.heads);
  std::vector<double> slopes =
      model.slope_rule == SlopeRule::kExponential
          ? exponential_slopes(heads, model.slope_bias_max,
                               static_cast<std::uint64_t>(model.slope_seed))
          : slopes_by_rule(model.slope_rule, heads, model.slope_bias_max);
  slopes.resize(static_cast<std::size_t>(model.heads));
  return slopes;
}

torch::Tensor sinusoidal_rows(std::int64_t first, std::int64_t rows, std::int64_t width,
                              torch::Device device) {
  // Angles in fp64: at position 100,000 fp32 would already be off by 0.004.
  const auto options = torch::TensorOptions().dtype(torch::kDouble).device(device);
  const torch::Tensor position_T = torch::arange(first, first + rows, options);
  const torch::Tensor exponent_c =
      torch::arange(width / 2, options) * (-2.0 / static_cast<double>(width));
  const torch::Tensor angle_Tc =
      position_T.unsqueeze(1) * torch::pow(10000.0, exponent_c).unsqueeze(0);
  return torch::cat({angle_Tc.sin(), angle_Tc.cos()}, 1).to(torch::kFloat);
}

Rotation rotation(std::int64_t width, double base) {
  Rotation turns;
  for (std::int64_t c = 0; c < width / 2; ++c)
    turns.frequencies.push_back(
        std::pow(base, -2.0 * static_cast<double>(c) / static_cast<double>(width)));
  return turns;
}

torch::Tensor rotate(const torch::Tensor& x_BHTD, std::int64_t first, const Rotation& rotation) {
  ensure(2 * std::ssize(rotation.frequencies) == x_BHTD.size(3), "a frequency for every pair");
  const auto options = torch::TensorOptions().dtype(torch::kDouble).device(x_BHTD.device());
  const torch::Tensor position_T = torch::arange(first, first + x_BHTD.size(2), options);
  const torch::Tensor frequency_c =
      torch::tensor(rotation.frequencies, torch::kDouble).to(x_BHTD.device());
  const torch::Tensor angle_Tc = position_T.unsqueeze(1) * frequency_c.unsqueeze(0);
  const auto exact = x_BHTD.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  const torch::Tensor cos_Tc = (angle_Tc.cos() * rotation.magnitude).to(exact);
  const torch::Tensor sin_Tc = (angle_Tc.sin() * rotation.magnitude).to(exact);
  const auto halves = x_BHTD.to(exact).chunk(2, 3);
  return torch::cat(
             {halves[0] * cos_Tc - halves[1] * sin_Tc, halves[1] * cos_Tc + halves[0] * sin_Tc}, 3)
      .to(x_BHTD.scalar_type());
}

torch::Tensor t5_bucket(const torch::Tensor& distance, std::int64_t buckets,
                        std::int64_t max_distance) {
  const std::int64_t exact = buckets / 2;
  const double scale = static_cast<double>(buckets - exact) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const torch::Tensor ratio =
      distance.clamp_min(exact).to(torch::kDouble) / static_cast<double>(exact);
  // A logarithm that is whole may come out just below: 1e-9 keeps it from the bucket before.
  const torch::Tensor far =
      (exact + (ratio.log() * scale + 1e-9).to(torch::kLong)).clamp_max(buckets - 1);
  return torch::where(distance < exact, distance, far);
}

}  // namespace alibi
