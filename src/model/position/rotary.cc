#include "model/position/rotary.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <tuple>

#include "base/error.h"
#include "device/device_graph.h"
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
      : base_(model.rotary_base),
        share_(model.rotary_share),
        scaling_{model.rotary_scaling, model.rotary_scaling_factor.value_or(1),
                 model.rotary_original_length.value_or(0)} {}

  torch::Tensor turn(const torch::Tensor& x_BHTD, std::int64_t first,
                     const PositionStretch& stretch) const override {
    Rotation turns =
        stretched_rotation(x_BHTD.size(3), base_, stretch.active() ? stretch : scaling_);
    const auto count = static_cast<double>(turns.frequencies.size());
    const auto turning = static_cast<std::ptrdiff_t>(std::lround(share_ * count));
    std::fill(turns.frequencies.begin() + turning, turns.frequencies.end(), 0.0);
    return rotate(x_BHTD, table(first, x_BHTD, turns));
  }

  bool moves_heads() const override { return true; }

 private:
  // Queries and keys of all layers turn by the same numbers: the last table is kept, so that a
  // device gets its frequencies once.
  RotationTable table(std::int64_t first, const torch::Tensor& x_BHTD,
                      const Rotation& rotation) const {
    const Place place{first,           x_BHTD.size(2),    rotation.frequencies, rotation.magnitude,
                      x_BHTD.device(), exact_type(x_BHTD)};
    const std::lock_guard lock(mutex_);  // a backward pass that computes again has its own thread
    if (place != place_) {
      place_ = place;
      table_ = rotation_table(first, x_BHTD.size(2), rotation, x_BHTD.device(), exact_type(x_BHTD));
    }
    keep_for_graph(table_.cos_Tc);
    keep_for_graph(table_.sin_Tc);
    return table_;
  }

  using Place = std::tuple<std::int64_t, std::int64_t, std::vector<double>, double, torch::Device,
                           torch::ScalarType>;
  double base_, share_;
  PositionStretch scaling_;  // as trained; an evaluation stretches only models that have none
  mutable std::mutex mutex_;
  mutable Place place_{0, 0, {}, 0, torch::kCPU, torch::kFloat};
  mutable RotationTable table_;
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

RotationTable rotation_table(std::int64_t first, std::int64_t count, const Rotation& rotation,
                             torch::Device device, torch::ScalarType type) {
  const torch::NoGradGuard guard;
  const auto options = torch::TensorOptions().dtype(torch::kDouble).device(device);
  const torch::Tensor position_T = torch::arange(first, first + count, options);
  const torch::Tensor frequency_c = torch::tensor(rotation.frequencies, torch::kDouble).to(device);
  const torch::Tensor angle_Tc = position_T.unsqueeze(1) * frequency_c.unsqueeze(0);
  return {(angle_Tc.cos() * rotation.magnitude).to(type),
          (angle_Tc.sin() * rotation.magnitude).to(type)};
}

torch::Tensor rotate(const torch::Tensor& x_BHTD, std::int64_t first, const Rotation& rotation) {
  return rotate(
      x_BHTD, rotation_table(first, x_BHTD.size(2), rotation, x_BHTD.device(), exact_type(x_BHTD)));
}

torch::Tensor rotate(const torch::Tensor& x_BHTD, const RotationTable& table) {
  const auto& [cos_Tc, sin_Tc] = table;
  ensure(2 * cos_Tc.size(1) == x_BHTD.size(3), "a frequency for every pair");
  const auto halves = x_BHTD.to(cos_Tc.scalar_type()).chunk(2, 3);
  return torch::cat(
             {halves[0] * cos_Tc - halves[1] * sin_Tc, halves[1] * cos_Tc + halves[0] * sin_Tc}, 3)
      .to(x_BHTD.scalar_type());
}

}  // namespace alibi
