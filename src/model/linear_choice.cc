#include "model/linear_choice.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "model/layers.h"
#include "model/shapes.h"

namespace alibi {
namespace {

constexpr double kClearly = 0.95;  // of the other's time
constexpr std::int64_t kTurns = 5;
// Multiplications of a forward pass that take some milliseconds.
constexpr std::int64_t kLeastProducts = 2'000'000'000;

// Block 0's projection, out, up and down.
std::vector<torch::Tensor> block_weights(const ModelConfig& model) {
  std::vector<torch::Tensor> weights;
  for (const ParameterShape& shape : parameter_shapes(model, 1)) {
    if (shape.name.starts_with("block_0.") && shape.name.ends_with(".weight") &&
        shape.sizes.size() == 2)
      weights.push_back(torch::empty(shape.sizes));
  }
  ensure(weights.size() == 4, "a block has four matrices");
  return weights;
}

std::vector<AffineImpl> layers_of(const std::vector<torch::Tensor>& weights, bool packs) {
  std::vector<AffineImpl> layers;
  for (const torch::Tensor& weight_OI : weights)
    layers.emplace_back(weight_OI, torch::Tensor(), packs);
  return layers;
}

// As a block calls them, with a part of the projection in place of what attention makes of it.
void run(std::vector<AffineImpl>& layers, const torch::Tensor& x_NC, Activation activation) {
  const torch::Tensor heads = layers[0].forward(x_NC).narrow(1, 0, x_NC.size(1));
  const torch::Tensor mixed = layers[1].add_to(x_NC, heads.contiguous());
  const torch::Tensor y_NC = mlp(layers[2], layers[3], activation, mixed, mixed);
  torch::autograd::backward({y_NC}, {x_NC.detach()});
  for (AffineImpl& layer : layers) {
    layer.weight_OI.mutable_grad() = torch::Tensor();
    const torch::NoGradGuard guard;
    layer.weight_OI.mul_(1);  // a new version: a step packs, or casts, its weights once
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

LinearLayers LinearTimes::faster() const {
  return libtorch < kClearly * packed ? LinearLayers::kLibtorch : LinearLayers::kPacked;
}

std::string LinearTimes::text() const {
  return cat("linear layers: ", name_of(faster()), "; a block's take ", fixed(1e3 * packed, 1),
             " ms on packed weights, ", fixed(1e3 * libtorch, 1), " ms by LibTorch's operators");
}

std::optional<LinearTimes> time_linear_layers(const ModelConfig& model, torch::ScalarType type,
                                              std::int64_t rows) {
  std::vector<torch::Tensor> weights = block_weights(model);  // untouched memory
  std::vector<AffineImpl> packed = layers_of(weights, true), libtorch = layers_of(weights, false);
  std::int64_t products = 0;
  for (const torch::Tensor& weight_OI : weights) products += rows * weight_OI.numel();
  const bool packs =
      std::ranges::any_of(packed, [&](const auto& layer) { return layer.packs_for(type); });
  if (!packs || products < kLeastProducts) return std::nullopt;
  for (torch::Tensor& weight_OI : weights) weight_OI.normal_(0, 0.02).requires_grad_();
  const torch::Tensor x_NC = torch::randn({rows, model.width}).to(type).requires_grad_();
  std::vector<double> seconds[2];
  for (std::int64_t turn = 0; turn <= kTurns; ++turn) {
    for (const bool packing : {true, false}) {
      const double start = seconds_now();
      run(packing ? packed : libtorch, x_NC, model.activation);
      if (turn > 0) seconds[packing ? 0 : 1].push_back(seconds_now() - start);
    }
  }
  return LinearTimes{median(seconds[0]), median(seconds[1])};
}

std::string settle_linear_layers(RuntimeConfig& runtime, const ModelConfig& model,
                                 torch::Device device, std::int64_t rows) {
  if (runtime.linear_layers != LinearLayers::kAuto || !device.is_cpu()) return "";
  const auto times = time_linear_layers(model, activation_type(runtime.precision), rows);
  if (!times) return "";
  runtime.linear_layers = times->faster();
  return times->text();
}

}  // namespace alibi
