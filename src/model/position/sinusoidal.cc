#include "model/position/sinusoidal.h"

#include <cmath>

#include "device/libtorch.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

// Added to embeddings times sqrt(width), as such models are trained.
class Sinusoidal final : public Positions {
 public:
  torch::Tensor embed(const torch::Tensor& x_BTC, std::int64_t first) const override {
    const std::int64_t width = x_BTC.size(2);
    return x_BTC * std::sqrt(static_cast<double>(width)) +
           sinusoidal_rows(first, x_BTC.size(1), width, x_BTC.device()).to(x_BTC.scalar_type());
  }
  bool moves_embeddings() const override { return true; }
};

}  // namespace

const MakePositions kMakeSinusoidal = [](const ModelConfig&,
                                         const RegisterParameter&) -> std::unique_ptr<Positions> {
  return std::make_unique<Sinusoidal>();
};

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

}  // namespace alibi
