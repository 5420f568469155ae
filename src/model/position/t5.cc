#include "model/position/t5.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "device/libtorch.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

class T5 final : public Positions {
 public:
  T5(const ModelConfig& model, const RegisterParameter& register_parameter)
      : max_distance_(model.t5_max_distance) {
    for (std::int64_t i = 0; i < (model.t5_shared ? 1 : model.layers); ++i) {
      tables_NH_.push_back(
          register_parameter(cat("buckets_", i), torch::zeros({model.t5_buckets, model.heads})));
    }
  }

  ScoreBias bias(const BiasPlace& place) const override {
    const torch::Tensor& buckets_NH =
        tables_NH_[tables_NH_.size() == 1 ? 0 : static_cast<std::size_t>(place.layer)];
    // From max_distance on all keys share the last bucket.
    const std::int64_t distances = std::min(place.keys, max_distance_ + 1);
    const torch::Tensor bucket_L =
        t5_bucket(torch::arange(distances, torch::TensorOptions(torch::kLong).device(place.device)),
                  buckets_NH.size(0), max_distance_);
    return {.slopes_H = {}, .table_HL = buckets_NH.index_select(0, bucket_L).t(), .terms_BHS = {}};
  }

 private:
  std::int64_t max_distance_;
  std::vector<torch::Tensor> tables_NH_;  // one, or one a layer
};

}  // namespace

const MakePositions kMakeT5 =
    [](const ModelConfig& model,
       const RegisterParameter& register_parameter) -> std::unique_ptr<Positions> {
  return std::make_unique<T5>(model, register_parameter);
};

torch::Tensor t5_bucket(const torch::Tensor& distance, std::int64_t buckets,
                        std::int64_t max_distance) {
  const std::int64_t exact = buckets / 2;
  const double scale = static_cast<double>(buckets - exact) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const torch::Tensor ratio =
      distance.clamp_min(exact).to(torch::kDouble) / static_cast<double>(exact);
  // A logarithm that is whole may come out just below: 1e-9 keeps it from the bucket before.
  const torch::Tensor far =
      (exact + (ratio.log() * scale + 1e-9).to(torch::kLong)).clamp_max(buckets - 1);
  return torch::where(distance < exact, distance, far);
}

}  // namespace alibi
