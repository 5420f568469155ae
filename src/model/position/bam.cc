#include "device/libtorch.h"
#include "model/position/alibi.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

constexpr double kEpsilon = 1e-5;  // the authors'; distance 0 has a power of any sign

// - exp(scale) (d + epsilon)^shape; starts, as the authors do, as ALiBi's line.
class Bam final : public Positions {
 public:
  Bam(const ModelConfig& model, const RegisterParameter& register_parameter) {
    scale_H_ = register_parameter("bam_scale", log_press_slopes(model.heads));
    shape_H_ = register_parameter("bam_shape", torch::ones({model.heads}));
  }

  ScoreBias bias(const BiasPlace& place) const override {
    const auto exact = torch::TensorOptions(torch::kDouble).device(place.device);
    const torch::Tensor log_L = (torch::arange(place.keys, exact) + kEpsilon).log();
    const torch::Tensor power_HL =
        scale_H_.to(exact).unsqueeze(1) + shape_H_.to(exact).unsqueeze(1) * log_L;
    return {
        .slopes_H = {}, .table_HL = -power_HL.exp().to(scale_H_.scalar_type()), .terms_BHS = {}};
  }

 private:
  torch::Tensor scale_H_, shape_H_;
};

}  // namespace

const MakePositions kMakeBam =
    [](const ModelConfig& model,
       const RegisterParameter& register_parameter) -> std::unique_ptr<Positions> {
  return std::make_unique<Bam>(model, register_parameter);
};

}  // namespace alibi
