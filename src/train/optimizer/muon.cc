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
#include <map>
#include <utility>
#include <vector>

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
  row_moment.lerp_(matrix.square().mean(-1), 1 - config.beta2);
  const torch::Tensor even = matrix / (row_moment.sqrt() + config.epsilon).unsqueeze(-1);
  const auto smaller = static_cast<double>(std::min(matrix.size(-2), matrix.size(-1)));
  return even * (std::sqrt(smaller) / (frobenius_norm(even) + config.epsilon));
}

// A direction's factor in a step of its weight.
double step_factor(const torch::Tensor& weight, double learning_rate) {
  const auto larger = static_cast<double>(std::max(weight.size(0), weight.size(1)));
  return -kRootMeanSquare * learning_rate * std::sqrt(larger);
}

void take_step(torch::Tensor weight, const torch::Tensor& direction, double learning_rate,
               double weight_decay) {
  RECORD_USER_SCOPE("alibi::optimizer");
  weight.mul_(1 - learning_rate * weight_decay);
  weight.add_(direction, step_factor(weight, learning_rate));
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

// Matrices of one shape, in lists that belong together.
struct Matrices {
  std::vector<torch::Tensor> weights, gradients, momenta, row_moments;
};

void update_alike(Matrices& m, const OptimizerConfig& config, const UpdateStep& step,
                  double weight_decay) {
  at::_foreach_lerp_(m.momenta, m.gradients, 1 - config.momentum);
  const torch::Tensor ahead =
      torch::stack(at::_foreach_lerp(m.gradients, m.momenta, config.momentum));
  torch::Tensor direction = orthogonal(ahead, config, step.products);
  if (config.kind == OptimizerAlgorithm::kNorMuon) {
    const torch::Tensor row_moments = torch::stack(m.row_moments);
    direction = with_even_rows(direction, row_moments, config);
    at::_foreach_copy_(m.row_moments, row_moments.unbind());
  }
  at::_foreach_mul_(m.weights, 1 - step.learning_rate * weight_decay);
  at::_foreach_add_(m.weights, direction.unbind(),
                    step_factor(m.weights.front(), step.learning_rate));
}

// What is stacked, its products and its direction need the memory of a stack a few times over
// (train/memory_plan.cc).
void update_by_shape(ParameterGroup& group, const OptimizerConfig& config, const UpdateStep& step) {
  const torch::NoGradGuard guard;
  std::map<std::pair<std::int64_t, std::int64_t>, Matrices> by_shape;
  const auto update_all = [&](Matrices& matrices) {
    if (!matrices.weights.empty()) update_alike(matrices, config, step, group.rule.weight_decay);
    matrices = {};
  };
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    std::int64_t first = 0;
    for (const std::int64_t rows :
         stacked_rows({group.names[i], group.parameters[i].sizes().vec()})) {
      const auto part = [&](const torch::Tensor& whole) { return whole.narrow(0, first, rows); };
      const torch::Tensor weight = part(group.parameters[i]);
      Matrices& alike = by_shape[{rows, weight.size(1)}];
      alike.weights.push_back(weight);
      alike.gradients.push_back(part(group.gradients[i]));
      alike.momenta.push_back(part(group.state[0][i]));
      if (config.kind == OptimizerAlgorithm::kNorMuon)
        alike.row_moments.push_back(part(group.state[1][i]));
      if ((std::ssize(alike.weights) + 1) * weight.numel() > step.together) update_all(alike);
      first += rows;
    }
  }
  for (auto& [shape, matrices] : by_shape) update_all(matrices);
}

// On a CPU each matrix on one thread: such products are too small to share out well. How LibTorch
// shares a product out also decides its last bits, so a process that owns a single matrix must not
// give it all threads: there are always two places in the loop.
void update(ParameterGroup& group, const OptimizerConfig& config, const UpdateStep& step) {
  if (step.together > 0) return update_by_shape(group, config, step);
  const std::int64_t count = std::ssize(group.parameters);
  const auto update_some = [&](std::int64_t begin, std::int64_t end) {
    const torch::NoGradGuard guard;  // of this thread
    for (std::int64_t i = begin; i < std::min(end, count); ++i)
      update_one(group, static_cast<std::size_t>(i), config, step);
  };
  at::parallel_for(0, std::max<std::int64_t>(count, 2), 1, update_some);
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
