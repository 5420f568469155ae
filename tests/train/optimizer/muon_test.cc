// Muon, NorMuon and MUD against their formulas in fp64, parameter by parameter. Seen failing with
// queries, keys and values taken as one matrix, without Nesterov's look-ahead, with the factor of
// the shorter side, with the decay of all else, and with NorMuon's rows not scaled back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/strings.h"
#include "device/libtorch.h"
#include "support/called_operators.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/orthogonal_formulas.h"

namespace alibi {
namespace {

constexpr std::int64_t kWidth = 8, kKeyRows = 4;

torch::Tensor random_parameter(const std::vector<std::int64_t>& sizes) {
  return torch::randn(sizes).requires_grad_();
}

// A block with fewer key/value heads, and what lies around it.
NamedParameters some_model() {
  torch::manual_seed(3);
  return {{"embedding", random_parameter({11, kWidth})},
          {"block_0.norm_1.weight", random_parameter({kWidth})},
          {"block_0.qkv.weight", random_parameter({kWidth + 2 * kKeyRows, kWidth})},
          {"block_0.out.weight", random_parameter({kWidth, kWidth})},
          {"block_0.up.weight", random_parameter({20, kWidth})},
          {"block_0.down.weight", random_parameter({kWidth, 20})},
          {"block_0.down.bias", random_parameter({kWidth})}};
}

std::vector<torch::Tensor> gradients_at(std::int64_t step, const NamedParameters& parameters) {
  torch::manual_seed(1000 + step);
  std::vector<torch::Tensor> gradients;
  for (const auto& [name, parameter] : parameters)
    gradients.push_back(torch::randn_like(parameter.detach()));
  return gradients;
}

OptimizerConfig config_of(OptimizerAlgorithm kind) {
  OptimizerConfig config;
  config.kind = kind;
  config.learning_rate = 0.5;  // its ratio to the matrices' counts, the schedule gives the rest
  config.matrix_learning_rate = 1.0;
  config.momentum = 0.8;
  config.beta2 = 0.9;
  config.weight_decay = 0.3;
  config.matrix_weight_decay = 0.2;
  return config;
}

const std::vector<OptimizerAlgorithm> kMatrixKinds = {
    OptimizerAlgorithm::kMuon, OptimizerAlgorithm::kNorMuon, OptimizerAlgorithm::kMud};

// One matrix in fp64; `rate` is its own.
struct MatrixFormula {
  OptimizerAlgorithm kind;
  torch::Tensor weight, momentum, row_moment;

  MatrixFormula(OptimizerAlgorithm algorithm, const torch::Tensor& start)
      : kind(algorithm),
        weight(start.to(torch::kDouble)),
        momentum(torch::zeros_like(weight)),
        row_moment(torch::zeros({weight.size(0), 1}, torch::kDouble)) {}

  void update(const OptimizerConfig& c, double rate, const torch::Tensor& gradient) {
    const torch::Tensor g = gradient.to(torch::kDouble);
    momentum = c.momentum * momentum + (1 - c.momentum) * g;
    const torch::Tensor ahead = (1 - c.momentum) * g + c.momentum * momentum;
    torch::Tensor o = kind == OptimizerAlgorithm::kMud ? one_pass_of_mud(ahead)
                                                       : polynomial_of_singular_values(ahead);
    const auto rows = static_cast<double>(o.size(0)), columns = static_cast<double>(o.size(1));
    double length = 0.2 * rate * std::sqrt(std::max(rows, columns));
    if (kind == OptimizerAlgorithm::kNorMuon) {
      row_moment = c.beta2 * row_moment + (1 - c.beta2) * (o * o).sum(1, true) / columns;
      o = o / (row_moment.sqrt() + c.epsilon);
      length = 0.2 * rate * std::sqrt(rows * columns) / o.square().sum().sqrt().item<double>();
    }
    weight = weight - rate * *c.matrix_weight_decay * weight - length * o;
  }
};

struct MatrixPlace {
  std::size_t parameter;
  std::int64_t first, rows;
};
const std::vector<MatrixPlace> kMatrices = {
    {2, 0, kWidth}, {2, kWidth, kKeyRows}, {2, kWidth + kKeyRows, kKeyRows}, {3, 0, kWidth},
    {4, 0, 20},     {5, 0, kWidth}};

TEST(Muon, FollowsTheFormulaOfEveryKind) {
  for (const OptimizerAlgorithm kind : kMatrixKinds) {
    const OptimizerConfig config = config_of(kind);
    const NamedParameters parameters = some_model();
    const auto part = [&](const std::vector<torch::Tensor>& of, const MatrixPlace& place) {
      return of[place.parameter].narrow(0, place.first, place.rows);
    };
    std::vector<torch::Tensor> weights;
    for (const auto& [name, parameter] : parameters) weights.push_back(parameter.detach());
    std::vector<MatrixFormula> expected;
    for (const MatrixPlace& place : kMatrices) expected.emplace_back(kind, part(weights, place));
    Optimizer optimizer(parameters, config);
    for (std::int64_t step = 1; step <= 4; ++step) {
      const double rate = 0.02 / static_cast<double>(step);
      const std::vector<torch::Tensor> gradients = gradients_at(step, parameters);
      optimizer.update(gradients, step, rate);
      for (std::size_t i = 0; i < kMatrices.size(); ++i) {
        expected[i].update(config, 2 * rate, part(gradients, kMatrices[i]));
        EXPECT_TRUE(torch::allclose(part(weights, kMatrices[i]).to(torch::kDouble),
                                    expected[i].weight, 1e-5, 1e-5))
            << name_of(kind) << ", matrix " << i << ", step " << step;
      }
    }
  }
}

// As many blocks of a model as are asked for.
NamedParameters some_blocks(int count) {
  NamedParameters all;
  torch::manual_seed(5);
  for (int i = 0; i < count; ++i)
    for (const auto& [name, parameter] : some_model())
      if (name.starts_with("block_0.") && parameter.dim() == 2)
        all.emplace_back(cat("block_", i, name.substr(7)),
                         random_parameter(parameter.sizes().vec()));
  return all;
}

ParameterGroup group_of(const NamedParameters& parameters, const OptimizerConfig& config) {
  ParameterGroup group;
  const std::vector<ParameterShape> shapes = shapes_of(parameters);
  group.rule = rule_for(shapes.front(), config);
  group.state.resize(group.rule.state.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    group.names.push_back(shapes[i].name);
    group.parameters.push_back(parameters[i].second.detach());
    for (std::size_t kind = 0; kind < group.state.size(); ++kind)
      group.state[kind].push_back(group.rule.state[kind].by_row
                                      ? torch::zeros({shapes[i].sizes.front()})
                                      : torch::zeros(shapes[i].sizes));
  }
  return group;
}

// How many products of several matrices a way to update takes, and the group after two steps.
std::pair<int, ParameterGroup> updated_group(OptimizerAlgorithm kind, int blocks,
                                             std::int64_t together,
                                             torch::ScalarType products = torch::kFloat) {
  const NamedParameters parameters = some_blocks(blocks);
  const OptimizerConfig config = config_of(kind);
  ParameterGroup group = group_of(parameters, config);
  std::vector<std::vector<torch::Tensor>> gradients;
  for (const std::int64_t step : {1, 2}) gradients.push_back(gradients_at(step, parameters));
  const CalledOperators called;
  for (const std::int64_t step : {1, 2}) {
    group.gradients = gradients[static_cast<std::size_t>(step - 1)];
    group.rule.update(
        group, config,
        {.number = step, .learning_rate = 0.02, .products = products, .together = together});
  }
  EXPECT_TRUE(together == 0 || called.number_reads() == 0) << "a device would be waited for";
  return {called.of("bmm") + called.of("baddbmm"), group};
}

void expect_alike(const ParameterGroup& found, const ParameterGroup& expected, double off) {
  for (std::size_t i = 0; i < expected.parameters.size(); ++i) {
    EXPECT_TRUE(torch::allclose(found.parameters[i], expected.parameters[i], off, off))
        << expected.names[i];
    for (std::size_t state = 0; state < expected.state.size(); ++state)
      EXPECT_TRUE(torch::allclose(found.state[state][i], expected.state[state][i], off, off))
          << expected.names[i];
  }
}

// Seen failing with the first rows' momentum for all, with moments not written back, and with
// a product for each matrix.
TEST(Muon, MatricesOfOneShapeTogetherAreAsEachAlone) {
  for (const OptimizerAlgorithm kind : kMatrixKinds) {
    SCOPED_TRACE(name_of(kind));
    const auto [none, alone] = updated_group(kind, 3, 0);
    const auto [some, together] = updated_group(kind, 3, 1000);
    EXPECT_EQ(none, 0);
    EXPECT_GT(some, 0);
    EXPECT_EQ(some, updated_group(kind, 1, 1000).first) << "blocks that are updated at once";
    expect_alike(together, alone, 1e-5);
    // Two or three of a shape, then the rest; none with another.
    for (const std::int64_t numbers : std::vector<std::int64_t>{1, 2 * kWidth * kWidth, 200}) {
      const auto [more, in_parts] = updated_group(kind, 3, numbers);
      EXPECT_GT(more, some) << numbers;
      expect_alike(in_parts, alone, 1e-5);
    }
    expect_alike(updated_group(kind, 3, 1000, torch::kBFloat16).second,
                 updated_group(kind, 3, 0, torch::kBFloat16).second, 2e-3);
  }
}

// Embedding, norms and biases: the bits of AdamW alone.
TEST(Muon, LeavesAllElseToAdamW) {
  for (const OptimizerAlgorithm kind : kMatrixKinds) {
    const NamedParameters all = some_model(), others = some_model();
    Optimizer optimizer(all, config_of(kind)), alone(others, config_of(OptimizerAlgorithm::kAdamW));
    for (const std::int64_t step : {1, 2}) {
      optimizer.update(gradients_at(step, all), step, 0.01);
      alone.update(gradients_at(step, others), step, 0.01);
    }
    for (const std::size_t i : {0, 1, 6})
      EXPECT_TRUE(torch::equal(all[i].second, others[i].second)) << all[i].first;
    EXPECT_FALSE(torch::equal(all[3].second, others[3].second));
  }
}

// A step of a matrix is about as long as one of AdamW, whatever its shape: rates carry over.
TEST(Muon, StepsHaveTheRootMeanSquareThatIsPromised) {
  for (const OptimizerAlgorithm kind : kMatrixKinds) {
    OptimizerConfig config;
    config.kind = kind;
    config.weight_decay = 0;
    const NamedParameters parameters = some_model(), before = some_model();
    Optimizer(parameters, config).update(gradients_at(1, parameters), 1, 0.01);
    for (const MatrixPlace& place : kMatrices) {
      const torch::Tensor step =
          (parameters[place.parameter].second.detach() - before[place.parameter].second.detach())
              .narrow(0, place.first, place.rows);
      const double size = step.square().mean().sqrt().item<double>();
      EXPECT_NEAR(size, 0.2 * 0.01, 0.25 * 0.2 * 0.01) << name_of(kind) << place.parameter;
    }
  }
}

TEST(Muon, RatesAndDecayOfMatricesAreThoseOfAllElseUnlessGiven) {
  OptimizerConfig config;
  config.kind = OptimizerAlgorithm::kMuon;
  const ParameterShape matrix{"block_0.up.weight", {20, 8}};
  EXPECT_EQ(rule_for(matrix, config).learning_rate_factor, 1);
  EXPECT_EQ(rule_for(matrix, config).weight_decay, config.weight_decay);
  config.matrix_learning_rate = 4 * config.learning_rate;
  config.matrix_weight_decay = 0;
  EXPECT_DOUBLE_EQ(rule_for(matrix, config).learning_rate_factor, 4);
  EXPECT_EQ(rule_for(matrix, config).weight_decay, 0);
}

// Products so long that LibTorch shares them out by their sums, should it be let.
NamedParameters long_model() {
  torch::manual_seed(4);
  return {{"embedding", random_parameter({300, 64})},
          {"block_0.qkv.weight", random_parameter({128, 64})},
          {"block_0.up.weight", random_parameter({4096, 64})},
          {"block_0.down.weight", random_parameter({64, 4096})}};
}

Shards shards_of(const NamedParameters& parameters, const OptimizerConfig& config, int ranks) {
  return shards_for(shapes_of(parameters), config, ranks);
}

// What `rank` of `ranks` owns of the long model, after two steps.
std::vector<torch::Tensor> updated(const OptimizerConfig& config, torch::ScalarType type, int ranks,
                                   int rank) {
  const NamedParameters parameters = long_model();
  const Shards shards = shards_of(parameters, config, ranks);
  const auto owned = [&](std::vector<torch::Tensor> whole) {
    for (std::size_t i = 0; i < whole.size(); ++i)
      whole[i] = sliced(whole[i], shards.slice(rank, i));
    return whole;
  };
  Optimizer optimizer(parameters, config, type, shards, rank);
  for (const std::int64_t step : {1, 2})
    optimizer.update(owned(gradients_at(step, parameters)), step, 0.01);
  std::vector<torch::Tensor> weights;
  for (const auto& [name, parameter] : parameters) weights.push_back(parameter.detach());
  return owned(weights);
}

void expect_parts(const std::vector<torch::Tensor>& found, const std::vector<torch::Tensor>& whole,
                  const OptimizerConfig& config, int ranks, int rank) {
  const NamedParameters parameters = long_model();
  const Shards shards = shards_of(parameters, config, ranks);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(torch::equal(found[i], sliced(whole[i], shards.slice(rank, i))))
        << name_of(config.kind) << ", " << parameters[i].first << ", rank " << rank << " of "
        << ranks;
  }
}

// On one of three ranks every matrix is alone. Seen failing with matrices cut as AdamW's are, and
// with the products of a single matrix shared out by LibTorch.
TEST(Muon, BitsDoNotDependOnWhoOwnsWhich) {
  for (const OptimizerAlgorithm kind : kMatrixKinds) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      const OptimizerConfig config = config_of(kind);
      for (const int threads : {2, 1}) {
        torch::set_num_threads(threads);
        const std::vector<torch::Tensor> whole = updated(config, type, 1, 0);
        for (const int ranks : {2, 3}) {
          for (int rank = 0; rank < ranks; ++rank)
            expect_parts(updated(config, type, ranks, rank), whole, config, ranks, rank);
        }
      }
    }
  }
}

// In fp32 MKL chooses its kernels by the number of threads that it might use.
TEST(Muon, BitsInBf16DoNotDependOnThreads) {
  for (const OptimizerAlgorithm kind : {OptimizerAlgorithm::kMuon, OptimizerAlgorithm::kNorMuon}) {
    const OptimizerConfig config = config_of(kind);
    torch::set_num_threads(2);
    const std::vector<torch::Tensor> two = updated(config, torch::kBFloat16, 1, 0);
    torch::set_num_threads(1);
    expect_parts(two, updated(config, torch::kBFloat16, 1, 0), config, 1, 0);
  }
}

TEST(Muon, KeepsOneMomentumAndNorMuonANumberForEachRow) {
  const ParameterShape matrix{"block_3.up.weight", {20, 8}}, head{"head", {20, 8}};
  OptimizerConfig config;
  const auto bytes = [&](OptimizerAlgorithm kind, const ParameterShape& parameter) {
    config.kind = kind;
    return optimizer_state_bytes(config, parameter);
  };
  EXPECT_EQ(bytes(OptimizerAlgorithm::kAdamW, matrix), 2 * 160 * 4);
  EXPECT_EQ(bytes(OptimizerAlgorithm::kMuon, matrix), 160 * 4);
  EXPECT_EQ(bytes(OptimizerAlgorithm::kMud, matrix), 160 * 4);
  EXPECT_EQ(bytes(OptimizerAlgorithm::kNorMuon, matrix), (160 + 20) * 4);
  EXPECT_EQ(bytes(OptimizerAlgorithm::kNorMuon, head), 2 * 160 * 4);
}

}  // namespace
}  // namespace alibi
