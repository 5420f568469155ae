#include "device/libtorch.h"
#include "model/position/alibi.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

// The paper's r1 and r2 are above 0, of the power kernel r2 at most 2; what is learned is any
// number: log r1, and log r2 or the logit of r2 / 2. It draws their first values; here heads start
// where ALiBi's do, near a query (log) or everywhere (power).
class Kerple final : public Positions {
 public:
  Kerple(const ModelConfig& model, const RegisterParameter& register_parameter)
      : kernel_(model.kerple_kernel) {
    const torch::Tensor steep_H = log_press_slopes(model.heads);
    const torch::Tensor one_H = torch::zeros({model.heads});
    const bool log = kernel_ == KerpleKernel::kLog;
    r1_H_ = register_parameter("kerple_r1", log ? one_H : steep_H);
    r2_H_ = register_parameter("kerple_r2", log ? steep_H : one_H);
  }

  ScoreBias bias(const BiasPlace& place) const override {
    const auto exact = torch::TensorOptions(torch::kDouble).device(place.device);
    const torch::Tensor distance_L = torch::arange(place.keys, exact);
    const torch::Tensor r1_H1 = r1_H_.to(exact).exp().unsqueeze(1);
    const torch::Tensor r2_H1 = r2_H_.to(exact).unsqueeze(1);
    torch::Tensor fall_HL;
    if (kernel_ == KerpleKernel::kLog) {
      fall_HL = r1_H1 * (r2_H1.exp() * distance_L).log1p();
    } else {  // as exp(r2 log d), whose gradient at distance 0 would be no number
      const torch::Tensor power_HL = (2 * r2_H1.sigmoid() * distance_L.clamp_min(1).log()).exp();
      fall_HL = r1_H1 * torch::where(distance_L > 0, power_HL, 0.0);
    }
    return {.slopes_H = {}, .table_HL = -fall_HL.to(r1_H_.scalar_type()), .terms_BHS = {}};
  }

 private:
  KerpleKernel kernel_;
  torch::Tensor r1_H_, r2_H_;
};

}  // namespace

const MakePositions kMakeKerple =
    [](const ModelConfig& model,
       const RegisterParameter& register_parameter) -> std::unique_ptr<Positions> {
  return std::make_unique<Kerple>(model, register_parameter);
};

}  // namespace alibi
