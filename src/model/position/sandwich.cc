#include <cmath>

#include "device/device_graph.h"
#include "device/libtorch.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

class Sandwich final : public Positions {
 public:
  explicit Sandwich(const ModelConfig& model)
      : heads_(model.heads), half_(model.sandwich_width / 2) {}

  ScoreBias bias(const BiasPlace& place) const override {
    if (!table_HL_.defined() || table_HL_.size(1) < place.keys ||
        table_HL_.device() != place.device)
      table_HL_ = make_table(2 * place.keys).to(place.device);
    keep_for_graph(table_HL_);
    return {.slopes_H = {}, .table_HL = table_HL_.narrow(1, 0, place.keys), .terms_BHS = {}};
  }

 private:
  torch::Tensor make_table(std::int64_t distances) const {
    const torch::Tensor distance_L = torch::arange(distances, torch::kDouble);
    torch::Tensor sum_L = torch::zeros({distances}, torch::kDouble);
    for (std::int64_t i = 0; i < half_; ++i)  // in turns: all at once would be half_ times as large
      sum_L +=
          (distance_L * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half_)))
              .cos();
    const torch::Tensor share_H =
        static_cast<double>(heads_) / (8 * torch::arange(1, heads_ + 1, torch::kDouble));
    return (share_H.unsqueeze(1) * sum_L).to(torch::kFloat);
  }

  std::int64_t heads_, half_;
  mutable torch::Tensor table_HL_;  // neither parameter nor buffer; grows with the text
};

}  // namespace

const MakePositions kMakeSandwich = [](const ModelConfig& model,
                                       const RegisterParameter&) -> std::unique_ptr<Positions> {
  return std::make_unique<Sandwich>(model);
};

}  // namespace alibi
