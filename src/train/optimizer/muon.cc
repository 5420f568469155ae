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

// Matrices of one shape, in lists that belong together.
struct Matrices {
  std::vector<torch::Tensor> weights, gradients, momenta, row_moments;
};

std::vector<torch::Tensor> look_ahead(const Matrices& m, double decay) {
  RECORD_USER_SCOPE("alibi::optimizer");
  at::_foreach_lerp_(m.momenta, m.gradients, 1 - decay);
  return at::_foreach_lerp(m.gradients, m.momenta, decay);
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

// Of one matrix, or of several, stacked.
torch::Tensor direction(const torch::Tensor& ahead, const torch::Tensor& row_moments,
                        const OptimizerConfig& config, const UpdateStep& step) {
  const torch::Tensor even = orthogonal(ahead, config, step.products);
  return row_moments.defined() ? with_even_rows(even, row_moments, config) : even;
}

std::vector<torch::Tensor> directions(std::vector<torch::Tensor> ahead, const Matrices& m,
                                      const OptimizerConfig& config, const UpdateStep& step) {
  const bool even = !m.row_moments.empty();
  if (step.together == 0)
    return {direction(ahead[0], even ? m.row_moments[0] : torch::Tensor(), config, step)};
  const torch::Tensor row_moments = even ? torch::stack(m.row_moments) : torch::Tensor();
  const torch::Tensor stacked = torch::stack(std::exchange(ahead, {}));  // memory of one, not two
  const torch::Tensor all = direction(stacked, row_moments, config, step);
  if (even) at::_foreach_copy_(m.row_moments, row_moments.unbind());
  return all.unbind();
}

void take_step(const Matrices& m, const std::vector<torch::Tensor>& directions,
               double learning_rate, double weight_decay) {
  RECORD_USER_SCOPE("alibi::optimizer");
  const torch::Tensor& first = m.weights.front();
  const auto larger = static_cast<double>(std::max(first.size(0), first.size(1)));
  at::_foreach_mul_(m.weights, 1 - learning_rate * weight_decay);
  at::_foreach_add_(m.weights, directions, -kRootMeanSquare * learning_rate * std::sqrt(larger));
}

void update_alike(const Matrices& m, const OptimizerConfig& config, const UpdateStep& step,
                  double weight_decay) {
  take_step(m, directions(look_ahead(m, config.momentum), m, config, step), step.learning_rate,
            weight_decay);
}

// The matrices of parameter i, one after another.
template <class Use>
void for_each_matrix(const ParameterGroup& group, std::size_t i, Use use) {
  std::int64_t first = 0;
  for (const std::int64_t rows :
       stacked_rows({group.names[i], group.parameters[i].sizes().vec()})) {
    const auto part = [&](const torch::Tensor& whole) { return whole.narrow(0, first, rows); };
    Matrices one{
        {part(group.parameters[i])}, {part(group.gradients[i])}, {part(group.state[0][i])}, {}};
    if (group.state.size() > 1) one.row_moments.push_back(part(group.state[1][i]));
    use(one);
    first += rows;
  }
}

void add(Matrices& to, const Matrices& more) {
  const auto append = [](std::vector<torch::Tensor>& list, const std::vector<torch::Tensor>& with) {
    list.insert(list.end(), with.begin(), with.end());
  };
  append(to.weights, more.weights);
  append(to.gradients, more.gradients);
  append(to.momenta, more.momenta);
  append(to.row_moments, more.row_moments);
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
    for_each_matrix(group, i, [&](const Matrices& one) {
      const torch::Tensor& weight = one.weights.front();
      Matrices& alike = by_shape[{weight.size(0), weight.size(1)}];
      add(alike, one);
      if ((std::ssize(alike.weights) + 1) * weight.numel() > step.together) update_all(alike);
    });
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
      for_each_matrix(group, static_cast<std::size_t>(i), [&](const Matrices& one) {
        update_alike(one, config, step, group.rule.weight_decay);
      });
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
