#include "model/position/alibi.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "device/libtorch.h"
#include "device/moved_tensor.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

class Alibi final : public Positions {
 public:
  Alibi(const ModelConfig& model, const RegisterParameter& register_parameter)
      : initial_(alibi_slopes(model)), fixed_H_(torch::tensor(initial_, torch::kFloat)) {
    if (model.learned_slopes)
      learned_H_ = register_parameter("slopes", torch::tensor(initial_, torch::kFloat));
  }

  ScoreBias bias(const BiasPlace& place) const override {
    return {.slopes_H = slopes_for(place).to(place.device), .table_HL = {}, .terms_BHS = {}};
  }

  std::vector<double> slopes() const override {
    if (!learned_H_.defined()) return initial_;
    const torch::Tensor now_H = learned_H_.detach().to(torch::kCPU, torch::kDouble).contiguous();
    const double* first = now_H.data_ptr<double>();
    return {first, first + now_H.numel()};
  }

 private:
  torch::Tensor slopes_for(const BiasPlace& place) const {
    const PositionChanges& changes = place.changes;
    if (changes.stretch.active() || !changes.slopes.empty()) {
      const std::vector<double> base = changes.slopes.empty() ? slopes() : changes.slopes;
      return torch::tensor(stretched_slopes(base, changes.stretch), torch::kFloat);
    }
    if (learned_H_.defined()) return learned_H_;
    return fixed_H_.on(place.device);
  }

  std::vector<double> initial_;
  MovedTensor fixed_H_;
  torch::Tensor learned_H_;  // undefined: fixed
};

}  // namespace

const MakePositions kMakeAlibi =
    [](const ModelConfig& model,
       const RegisterParameter& register_parameter) -> std::unique_ptr<Positions> {
  return std::make_unique<Alibi>(model, register_parameter);
};

torch::Tensor log_press_slopes(std::int64_t heads) {
  std::vector<double> slopes = slopes_by_rule(SlopeRule::kPress, heads, 8);
  for (double& slope : slopes) slope = std::log(slope);
  return torch::tensor(slopes, torch::kFloat);
}

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

}  // namespace alibi
