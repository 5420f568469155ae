// AdamW (Loshchilov and Hutter 2019): m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;
// w -= lr * (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay * w). Decay on matrices only.
// Its state tensors are moment_1 (m) and moment_2 (v).
#include "device/libtorch.h"
#include "train/optimizer/optimizer.h"

namespace alibi {
namespace {

void update(ParameterGroup& group, const OptimizerConfig& config, const UpdateStep& step) {
  // It only reads them: one for all.
  const std::vector<torch::Tensor> steps(
      group.parameters.size(),
      torch::full({}, static_cast<double>(step.number), group.parameters.front().options()));
  at::_fused_adamw_(group.parameters, group.gradients, group.state[0], group.state[1], {}, steps,
                    step.learning_rate, config.beta1, config.beta2, group.rule.weight_decay,
                    config.epsilon, /*amsgrad=*/false, /*maximize=*/false);
}

ParameterRule rule(const ParameterShape& parameter, const OptimizerConfig& config) {
  const bool matrix = parameter.sizes.size() >= 2;
  return {.weight_decay = matrix ? config.weight_decay : 0.0,
          .state = {{"moment_1"}, {"moment_2"}},
          .update = update};
}

}  // namespace

OptimizerKind adamw() { return {OptimizerAlgorithm::kAdamW, rule}; }

}  // namespace alibi
