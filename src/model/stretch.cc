#include "model/stretch.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace alibi {
namespace {

// Turns within the trained length below which a pair is stretched whole, and above which not.
constexpr double kFewTurns = 1, kManyTurns = 32;

Rotation yarn(Rotation turns, const PositionStretch& stretch) {
  ensure(stretch.trained_length > 0, "yarn knows the trained length");
  for (double& frequency : turns.frequencies) {
    const double count =
        static_cast<double>(stretch.trained_length) * frequency / (2 * std::numbers::pi);
    const double kept = std::clamp((count - kFewTurns) / (kManyTurns - kFewTurns), 0.0, 1.0);
    frequency *= kept + (1 - kept) / stretch.factor;
  }
  turns.magnitude = 1 + 0.1 * std::log(stretch.factor);
  return turns;
}

}  // namespace

std::vector<double> stretched_slopes(const std::vector<double>& slopes,
                                     const PositionStretch& stretch) {
  if (!stretch.active()) return slopes;
  ensure(stretch.kind != Stretch::kYarn, "yarn is for rotary positions");
  std::vector<double> biased = slopes;  // heads without a bias have nothing to stretch
  std::erase_if(biased, [](double slope) { return slope <= 0; });
  if (biased.empty()) return slopes;
  const auto [least, most] = std::minmax_element(biased.begin(), biased.end());
  const double flattest = std::log(*least), range = std::log(*most) - flattest;
  std::vector<double> stretched;
  for (const double slope : slopes) {
    if (slope <= 0) {
      stretched.push_back(slope);
      continue;
    }
    const bool all = stretch.kind == Stretch::kLinear || range == 0;
    const double share = all ? 1 : 1 - (std::log(slope) - flattest) / range;
    stretched.push_back(slope * std::pow(stretch.factor, -share));
  }
  return stretched;
}

Rotation stretched_rotation(std::int64_t width, double base, const PositionStretch& stretch) {
  if (!stretch.active()) return rotation(width, base);
  if (stretch.kind == Stretch::kYarn) return yarn(rotation(width, base), stretch);
  if (stretch.kind == Stretch::kNtk && width > 2) {
    const auto d = static_cast<double>(width);
    return rotation(width, base * std::pow(stretch.factor, d / (d - 2)));
  }
  Rotation turns = rotation(width, base);
  for (double& frequency : turns.frequencies) frequency /= stretch.factor;
  return turns;
}

}  // namespace alibi
