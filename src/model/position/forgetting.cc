#include "base/strings.h"
#include "device/libtorch.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

// c_i - c_j with c_i the sum over tokens up to i of log sigmoid(w x + b), x a layer's input.
class Forgetting final : public Positions {
 public:
  Forgetting(const ModelConfig& model, const RegisterParameter& register_parameter) {
    for (std::int64_t i = 0; i < model.layers; ++i) {
      weights_HC_.push_back(
          register_parameter(cat("forget_", i), torch::zeros({model.heads, model.width})));
      biases_H_.push_back(register_parameter(cat("forget_bias_", i), torch::zeros({model.heads})));
    }
  }

  ScoreBias bias(const BiasPlace& place) const override {
    const auto layer = static_cast<std::size_t>(place.layer);
    const torch::Tensor& x_BTC = place.normed_BTC;
    const torch::Tensor gate_BTH = at::linear(x_BTC, weights_HC_[layer].to(x_BTC.options()),
                                              biases_H_[layer].to(x_BTC.options()));
    // log sigmoid(x) = - softplus(-x)
    const torch::Tensor log_BHT = at::softplus(-gate_BTH.to(torch::kDouble)).neg().transpose(1, 2);
    return {.slopes_H = {}, .table_HL = {}, .terms_BHS = log_BHT.cumsum(2)};
  }

 private:
  std::vector<torch::Tensor> weights_HC_, biases_H_;  // by layer
};

}  // namespace

const MakePositions kMakeForgetting =
    [](const ModelConfig& model,
       const RegisterParameter& register_parameter) -> std::unique_ptr<Positions> {
  return std::make_unique<Forgetting>(model, register_parameter);
};

}  // namespace alibi
