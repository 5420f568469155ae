#include "base/strings.h"
#include "device/libtorch.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

constexpr double kFirstRate = 0.1, kEpsilon = 1e-6;  // the authors'

struct FireLayer {
  torch::Tensor in_F, in_bias_F, out_HF, out_bias_H, rate, threshold;

  // f(log(|c| d + 1) / log(|c| max(L, i) + 1)), f of one hidden layer.
  torch::Tensor rows(std::int64_t first, std::int64_t count, std::int64_t keys,
                     double start) const {
    const torch::Tensor place_R1 = torch::arange(first, first + count, in_F.options()).unsqueeze(1);
    const torch::Tensor distance_RS = (place_R1 - torch::arange(keys, in_F.options())).abs();
    const torch::Tensor spread_R1 = torch::maximum(place_R1, (threshold * start).abs());
    const torch::Tensor share_RS =
        ((rate * distance_RS).abs() + 1).log() / (((rate * spread_R1).abs() + 1).log() + kEpsilon);
    const torch::Tensor units_RSF = torch::relu(share_RS.unsqueeze(2) * in_F + in_bias_F);
    return at::linear(units_RSF, out_HF, out_bias_H).permute({2, 0, 1});
  }
};

class Fire final : public Positions {
 public:
  // The hidden units start as hinges at equal steps of the share, none at 0, where the paper draws
  // them.
  Fire(const ModelConfig& model, const RegisterParameter& register_parameter)
      : start_(model.fire_threshold) {
    for (std::int64_t i = 0; i < model.layers; ++i) {
      layers_.push_back(
          {register_parameter(cat("fire_in_", i), torch::ones({kFireUnits})),
           register_parameter(cat("fire_in_bias_", i),
                              (torch::arange(kFireUnits) + 0.5) / -static_cast<double>(kFireUnits)),
           register_parameter(cat("fire_out_", i), torch::zeros({model.heads, kFireUnits})),
           register_parameter(cat("fire_out_bias_", i), torch::zeros({model.heads})),
           register_parameter(cat("fire_rate_", i), torch::full({1}, kFirstRate)),
           register_parameter(cat("fire_threshold_", i), torch::ones({1}))});
    }
  }

  ScoreBias bias(const BiasPlace& place) const override {
    const FireLayer& layer = layers_[static_cast<std::size_t>(place.layer)];
    return {.slopes_H = {},
            .table_HL = {},
            .terms_BHS = {},
            .rows = [&layer, start = start_](
                        std::int64_t first, std::int64_t rows,
                        std::int64_t keys) { return layer.rows(first, rows, keys, start); },
            .rows_need_gradient = at::GradMode::is_enabled()};
  }

 private:
  std::vector<FireLayer> layers_;
  double start_;
};

}  // namespace

const MakePositions kMakeFire =
    [](const ModelConfig& model,
       const RegisterParameter& register_parameter) -> std::unique_ptr<Positions> {
  return std::make_unique<Fire>(model, register_parameter);
};

}  // namespace alibi
