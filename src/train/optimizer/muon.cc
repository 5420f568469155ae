// Muon and what was made of it: the matrices of the blocks move along their momentum made
// orthogonal, all else by AdamW. With m = u m + (1-u) g (momentum u) and Nesterov's look-ahead:
//
//   w = (1 - lr decay) w - 0.2 lr sqrt(max(rows, columns)) orthogonal((1-u) g + u m)
//
// (Jordan et al. 2024; the factor: Liu et al. 2025, "Muon is scalable for LLM training", section
// 2.2: steps have the root mean square 0.2 lr, about AdamW's; the best rates measured here are 2 to
// 13 times AdamW's all the same, data/results/optimizers). Queries, keys and values, stacked in one
// weight, are matrices of their own.
//
// NorMuon (Li et al. 2025, arXiv 2510.05491, algorithm 1) keeps the mean square of each row of
// o = orthogonal(...), v = b2 v + (1-b2) mean(o^2), and takes o / (sqrt(v) + eps), scaled to the
// same root mean square, in place of o. MUD takes another map for `orthogonal`.
//
// State: momentum (m), and NorMuon's row_moment_2 (v).
#include <algorithm>
#include <cmath>

#include "device/libtorch.h"
#include "model/shapes.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/orthogonal.h"

namespace alibi {
namespace {

constexpr double kRootMeanSquare = 0.2;  // of a step, at a learning rate of 1

torch::Tensor look_ahead(torch::Tensor momentum, const torch::Tensor& gradient, double decay) {
  RECORD_USER_SCOPE("alibi::optimizer");
  momentum.lerp_(gradient, 1 - decay);
  return gradient.lerp(momentum, decay);
}

torch::Tensor orthogonal(const torch::Tensor& matrix, const OptimizerConfig& config,
                         torch::ScalarType products) {
  RECORD_USER_SCOPE("alibi::orthogonalisation");
  return config.kind == OptimizerAlgorithm::kMud ? decorrelated(matrix)
                                                 : newton_schulz(matrix, products);
}

// NorMuon's o / (sqrt(v) + eps), of Frobenius norm sqrt(min(rows, columns)): that of a matrix whose
// singular values are 1.
torch::Tensor with_even_rows(const torch::Tensor& matrix, torch::Tensor row_moment,
                             const OptimizerConfig& config) {
  RECORD_USER_SCOPE("alibi::optimizer");
  row_moment.lerp_(matrix.square().mean(1), 1 - config.beta2);
  const torch::Tensor even = matrix / (row_moment.sqrt() + config.epsilon).unsqueeze(1);
  const auto smaller = static_cast<double>(std::min(matrix.size(0), matrix.size(1)));
  return even * (std::sqrt(smaller) / (even.norm() + config.epsilon));
}

void take_step(torch::Tensor weight, const torch::Tensor& direction, double learning_rate,
               double weight_decay) {
  RECORD_USER_SCOPE("alibi::optimizer");
  const auto larger = static_cast<double>(std::max(weight.size(0), weight.size(1)));
  weight.mul_(1 - learning_rate * weight_decay);
  weight.add_(direction, -kRootMeanSquare * learning_rate * std::sqrt(larger));
}

void update_one(ParameterGroup& group, std::size_t i, const OptimizerConfig& config,
                const UpdateStep& step) {
  const torch::Tensor& weight = group.parameters[i];
  const torch::Tensor ahead = look_ahead(group.state[0][i], group.gradients[i], config.momentum);
  std::int64_t first = 0;
  for (const std::int64_t rows : stacked_rows({group.names[i], weight.sizes().vec()})) {
    const auto part = [&](const torch::Tensor& whole) { return whole.narrow(0, first, rows); };
    torch::Tensor direction = orthogonal(part(ahead), config, step.products);
    if (config.kind == OptimizerAlgorithm::kNorMuon)
      direction = with_even_rows(direction, part(group.state[1][i]), config);
    take_step(part(weight), direction, step.learning_rate, group.rule.weight_decay);
    first += rows;
  }
}

// On a CPU each matrix on one thread: such products are too small to share out well. How LibTorch
// shares a product out also decides its last bits, so a process that owns a single matrix must not
// give it all threads: there are always two places in the loop.
void update(ParameterGroup& group, const OptimizerConfig& config, const UpdateStep& step) {
  const std::int64_t count = std::ssize(group.parameters);
  const auto update_some = [&](std::int64_t begin, std::int64_t end) {
    const torch::NoGradGuard guard;  // of this thread
    for (std::int64_t i = begin; i < std::min(end, count); ++i)
      update_one(group, static_cast<std::size_t>(i), config, step);
  };
  if (group.parameters.front().is_cpu())
    at::parallel_for(0, std::max<std::int64_t>(count, 2), 1, update_some);
  else
    update_some(0, count);
}

ParameterRule rule(const ParameterShape& parameter, const OptimizerConfig& config) {
  if (stacked_rows(parameter).empty()) return adamw().rule(parameter, config);
  std::vector<StateTensor> state = {{"momentum"}};
  if (config.kind == OptimizerAlgorithm::kNorMuon)
    state.push_back({.name = "row_moment_2", .by_row = true});
  return {.weight_decay = config.matrix_weight_decay.value_or(config.weight_decay),
          .learning_rate_factor =
              config.matrix_learning_rate.value_or(config.learning_rate) / config.learning_rate,
          .state = std::move(state),
          .update = update,
          .whole = true};
}

}  // namespace

OptimizerKind muon() { return {OptimizerAlgorithm::kMuon, rule}; }
OptimizerKind normuon() { return {OptimizerAlgorithm::kNorMuon, rule}; }
OptimizerKind mud() { return {OptimizerAlgorithm::kMud, rule}; }

}  // namespace alibi
