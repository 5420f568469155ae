#include "model/linear_choice.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
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
struct Linears {
  Linears(const ModelConfig& model, bool packs) {
    for (const ParameterShape& shape : parameter_shapes(model, 1)) {
      if (!shape.name.starts_with("block_0.") || !shape.name.ends_with(".weight") ||
          shape.sizes.size() != 2)
        continue;
      all.emplace_back(torch::randn(shape.sizes).mul_(0.02).requires_grad_(), torch::Tensor(),
                       packs);
      products += shape.sizes[0] * shape.sizes[1];
    }
    ensure(all.size() == 4, "a block has four matrices");
  }

  // As a block calls them, with a part of the projection in place of what attention makes of it.
  void run(const torch::Tensor& x_NC, Activation activation) {
    const torch::Tensor heads = all[0].forward(x_NC).narrow(1, 0, x_NC.size(1));
    const torch::Tensor mixed = all[1].add_to(x_NC, heads.contiguous());
    const torch::Tensor y_NC = mlp(all[2], all[3], activation, mixed, mixed);
    torch::autograd::backward({y_NC}, {x_NC.detach()});
    for (AffineImpl& layer : all) {
      layer.weight_OI.mutable_grad() = torch::Tensor();
      const torch::NoGradGuard guard;
      layer.weight_OI.mul_(1);  // a new version: a step packs, or casts, its weights once
    }
  }

  std::vector<AffineImpl> all;
  std::int64_t products = 0;  // of a row
};

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
  Linears packed(model, true), libtorch(model, false);
  const bool packs =
      std::ranges::any_of(packed.all, [&](const auto& layer) { return layer.packs_for(type); });
  if (!packs || rows * packed.products < kLeastProducts) return std::nullopt;
  const torch::Tensor x_NC = torch::randn({rows, model.width}).to(type).requires_grad_();
  std::vector<double> seconds[2];
  for (std::int64_t turn = 0; turn <= kTurns; ++turn) {
    for (const bool packing : {true, false}) {
      const double start = seconds_now();
      (packing ? packed : libtorch).run(x_NC, model.activation);
      if (turn > 0) seconds[packing ? 0 : 1].push_back(seconds_now() - start);
    }
  }
  return LinearTimes{median(seconds[0]), median(seconds[1])};
}

}  // namespace alibi
