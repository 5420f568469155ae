#include "model/linear_choice.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "model/layers.h"
#include "model/linear/linear_products.h"
#include "model/shapes.h"

namespace alibi {
namespace {

constexpr double kClearly = 0.95;  // of the other's time
// Multiplications of one block and the output layer, forward, that take a millisecond.
constexpr std::int64_t kLeastProducts = 200'000'000;
// Enough to tell, and quick; packing weighs somewhat more than in larger micro batches.
constexpr std::int64_t kMostRows = 2048;
constexpr std::int64_t kHeadRows = 1024;  // runtime.loss_chunk_rows by default

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

// As the loss calls the output layer: what it makes of logits takes their place.
void run_head(const torch::Tensor& weight_VC, const torch::Tensor& x_NC,
              LinearProducts::Kind kind) {
  LinearProducts head(weight_VC, x_NC.scalar_type(), kind);
  const torch::Tensor dweight_VC = torch::empty_like(weight_VC);
  for (std::int64_t first = 0; first < x_NC.size(0); first += kHeadRows) {
    const torch::Tensor x_RC = x_NC.narrow(0, first, std::min(kHeadRows, x_NC.size(0) - first));
    const torch::Tensor y_RV = head.forward_aligned(x_RC);
    head.input_gradient(y_RV);
    head.weight_gradient(y_RV, x_RC, dweight_VC, first > 0);
  }
}

LinearTimes time_head(const torch::Tensor& weight_VC, const torch::Tensor& x_NC) {
  using Kind = LinearProducts::Kind;
  return time_in_turns(
      [&] { run_head(weight_VC, x_NC, LinearProducts::best_kind(weight_VC, x_NC.scalar_type())); },
      [&] { run_head(weight_VC, x_NC, Kind::kLibtorch); });
}

LinearTimes time_block(const std::vector<torch::Tensor>& weights, const torch::Tensor& x_NC,
                       Activation activation) {
  std::vector<AffineImpl> packed = layers_of(weights, true), libtorch = layers_of(weights, false);
  return time_in_turns([&] { run(packed, x_NC, activation); },
                       [&] { run(libtorch, x_NC, activation); });
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
  return cat("linear layers: ", name_of(faster()), "; forward and backward in ",
             fixed(1e3 * packed, 1), " ms on packed weights, ", fixed(1e3 * libtorch, 1),
             " ms by LibTorch's operators");
}

LinearTimes time_in_turns(const std::function<void()>& packed,
                          const std::function<void()>& libtorch) {
  constexpr double kLongEnough = 0.5;  // seconds
  constexpr int kLeast = 3, kMost = 25;
  std::vector<double> seconds[2];
  const double begun = seconds_now();
  for (int turn = 0; turn <= kMost; ++turn) {
    if (turn > kLeast && seconds_now() > begun + kLongEnough) break;
    for (const bool packs : {true, false}) {
      const double start = seconds_now();
      packs ? packed() : libtorch();
      if (turn > 0) seconds[packs ? 0 : 1].push_back(seconds_now() - start);
    }
  }
  return {median(seconds[0]), median(seconds[1])};
}

std::optional<LinearTimes> time_linear_layers(const ModelConfig& model, std::int64_t vocabulary,
                                              torch::ScalarType type, std::int64_t rows) {
  rows = std::min(rows, kMostRows);
  std::vector<torch::Tensor> weights = block_weights(model);  // untouched memory
  torch::Tensor head_VC = torch::empty({vocabulary, model.width});
  std::int64_t products = rows * head_VC.numel();
  bool packs = LinearProducts::best_kind(head_VC, type) == LinearProducts::Kind::kPacked;
  for (const torch::Tensor& weight_OI : weights) {
    products += rows * weight_OI.numel();
    packs |= LinearProducts::best_kind(weight_OI, type) == LinearProducts::Kind::kPacked;
  }
  if (!packs || products < kLeastProducts) return std::nullopt;
  for (torch::Tensor& weight_OI : weights) weight_OI.normal_(0, 0.02).requires_grad_();
  const torch::Tensor x_NC = torch::randn({rows, model.width}).to(type);
  const LinearTimes head = time_head(head_VC.normal_(0, 0.02), x_NC);
  const LinearTimes block = time_block(weights, x_NC.detach().requires_grad_(), model.activation);
  const auto blocks = static_cast<double>(model.layers);
  return LinearTimes{blocks * block.packed + head.packed, blocks * block.libtorch + head.libtorch};
}

std::string settle_linear_layers(RuntimeConfig& runtime, const ModelConfig& model,
                                 std::int64_t vocabulary, torch::Device device, std::int64_t rows) {
  if (runtime.linear_layers != LinearLayers::kAuto || !device.is_cpu()) return "";
  const auto times =
      time_linear_layers(model, vocabulary, activation_type(runtime.precision), rows);
  if (!times) return "";
  runtime.linear_layers = times->faster();
  return times->text();
}

}  // namespace alibi
