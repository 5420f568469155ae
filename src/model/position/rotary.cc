#include "model/position/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "device/exact_type.h"
#include "device/libtorch.h"
#include "model/position/positions.h"

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

class Rotary final : public Positions {
 public:
  explicit Rotary(const ModelConfig& model)
      : base_(model.rotary_base), share_(model.rotary_share) {}

  torch::Tensor turn(const torch::Tensor& x_BHTD, std::int64_t first,
                     const PositionStretch& stretch) const override {
    Rotation turns = stretched_rotation(x_BHTD.size(3), base_, stretch);
    const auto count = static_cast<double>(turns.frequencies.size());
    const auto turning = static_cast<std::ptrdiff_t>(std::lround(share_ * count));
    std::fill(turns.frequencies.begin() + turning, turns.frequencies.end(), 0.0);
    return rotate(x_BHTD, first, turns);
  }

  bool moves_heads() const override { return true; }

 private:
  double base_, share_;
};

}  // namespace

const MakePositions kMakeRotary = [](const ModelConfig& model,
                                     const RegisterParameter&) -> std::unique_ptr<Positions> {
  return std::make_unique<Rotary>(model);
};

Rotation rotation(std::int64_t width, double base) {
  Rotation turns;
  for (std::int64_t c = 0; c < width / 2; ++c)
    turns.frequencies.push_back(
        std::pow(base, -2.0 * static_cast<double>(c) / static_cast<double>(width)));
  return turns;
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

torch::Tensor rotate(const torch::Tensor& x_BHTD, std::int64_t first, const Rotation& rotation) {
  ensure(2 * std::ssize(rotation.frequencies) == x_BHTD.size(3), "a frequency for every pair");
  const auto options = torch::TensorOptions().dtype(torch::kDouble).device(x_BHTD.device());
  const torch::Tensor position_T = torch::arange(first, first + x_BHTD.size(2), options);
  const torch::Tensor frequency_c =
      torch::tensor(rotation.frequencies, torch::kDouble).to(x_BHTD.device());
  const torch::Tensor angle_Tc = position_T.unsqueeze(1) * frequency_c.unsqueeze(0);
  const auto exact = exact_type(x_BHTD);
  const torch::Tensor cos_Tc = (angle_Tc.cos() * rotation.magnitude).to(exact);
  const torch::Tensor sin_Tc = (angle_Tc.sin() * rotation.magnitude).to(exact);
  const auto halves = x_BHTD.to(exact).chunk(2, 3);
  return torch::cat(
             {halves[0] * cos_Tc - halves[1] * sin_Tc, halves[1] * cos_Tc + halves[0] * sin_Tc}, 3)
      .to(x_BHTD.scalar_type());
}

}  // namespace alibi
