#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "config/config.h"
#include "device/libtorch.h"
#include "model/plain_attention.h"
#include "model/position/positions.h"
#include "model/position/rotary.h"
#include "model/position/sinusoidal.h"
#include "model/position/t5.h"

namespace alibi {
namespace {

using Slopes = std::vector<double>;

// The authors' code (ofirpress/attention_with_linear_biases, get_slopes), line by line.
Slopes press_power_of_two(int n) {
  const double start = std::pow(2, -std::pow(2, -(std::log2(n) - 3)));
  Slopes slopes;
  for (int i = 0; i < n; ++i) slopes.push_back(start * std::pow(start, i));
  return slopes;
}

Slopes press(int n) {
  if ((n & (n - 1)) == 0) return press_power_of_two(n);
  int closest = 1;
  while (2 * closest < n) closest *= 2;
  Slopes slopes = press_power_of_two(closest);
  const Slopes doubled = press(2 * closest);
  for (int i = 0; i < n - closest; ++i) slopes.push_back(doubled[static_cast<std::size_t>(2 * i)]);
  return slopes;
}

// MPT's code (mosaicml/llm-foundry, gen_slopes), line by line.
Slopes mpt(int n, double bias_max) {
  int padded = 1;
  while (padded < n) padded *= 2;
  Slopes all;
  for (int i = 1; i <= padded; ++i) all.push_back(1 / std::pow(2, i * bias_max / padded));
  if (padded == n) return all;
  Slopes slopes;
  for (std::size_t i = 1; i < all.size(); i += 2) slopes.push_back(all[i]);
  for (std::size_t i = 0; i < all.size(); i += 2) slopes.push_back(all[i]);
  slopes.resize(static_cast<std::size_t>(n));
  return slopes;
}

void expect_same(const Slopes& found, const Slopes& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t h = 0; h < found.size(); ++h)
    EXPECT_NEAR(found[h] / expected[h], 1, 1e-12) << what << ", head " << h;
}

TEST(Slopes, EqualBothPublishedRulesForEveryCountOfHeads) {
  for (int heads = 1; heads <= 128; ++heads) {
    const Slopes found = slopes_by_rule(SlopeRule::kPress, heads, 8);
    expect_same(found, press(heads), "Press, heads " + std::to_string(heads));
    expect_same(found, mpt(heads, 8), "MPT, heads " + std::to_string(heads));
  }
}

TEST(Slopes, FollowTheLargestBias) {
  for (const double bias_max : {4.0, 16.0}) {
    for (int heads = 1; heads <= 128; ++heads)
      expect_same(slopes_by_rule(SlopeRule::kPress, heads, bias_max), mpt(heads, bias_max), "MPT");
  }
}

TEST(Slopes, OfEightHeadsAreTheHalvesOfThePaper) {
  expect_same(slopes_by_rule(SlopeRule::kPress, 8, 8),
              {1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256}, "eight");
}

TEST(Slopes, GeometricRuleHasOneRatioForAnyCount) {
  for (const int heads : {1, 6, 12, 16, 127}) {
    const Slopes found = slopes_by_rule(SlopeRule::kGeometric, heads, 8);
    ASSERT_EQ(std::ssize(found), heads);
    const double first = std::pow(2, -8.0 / heads);
    for (int h = 0; h < heads; ++h)
      EXPECT_NEAR(found[static_cast<std::size_t>(h)] / std::pow(first, h + 1), 1, 1e-12);
    EXPECT_NEAR(found.back(), 1.0 / 256, 1e-15);
  }
}

TEST(Slopes, AnExplicitListWinsOverTheRule) {
  ModelConfig model;
  model.heads = 3;
  expect_same(alibi_slopes(model), press(3), "by rule");
  model.slopes = {0.5, 0.125, 2.0};
  EXPECT_EQ(alibi_slopes(model), model.slopes);
}

TEST(Slopes, OfTheEqualRuleAreTheGeometricMeanOfTheList) {
  for (const int heads : {1, 6, 8}) {
    double product = 1;
    for (const double slope : slopes_by_rule(SlopeRule::kGeometric, heads, 8)) product *= slope;
    for (const double slope : slopes_by_rule(SlopeRule::kEqual, heads, 8))
      EXPECT_NEAR(slope, std::pow(product, 1.0 / heads), 1e-12);
  }
}

TEST(Slopes, DrawnOnesFollowTheirSeedAndMean) {
  const Slopes one = exponential_slopes(8, 8, 1), same = exponential_slopes(8, 8, 1);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, exponential_slopes(8, 8, 2));
  EXPECT_TRUE(std::is_sorted(one.rbegin(), one.rend()));
  double sum = 0, least = 1;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    for (const double slope : exponential_slopes(8, 8, seed)) {
      sum += slope;
      least = std::min(least, slope);
    }
  }
  EXPECT_GT(least, 0);
  // (1/2 + ... + 1/256) / 8; 8,000 draws: a standard error of 1.1 %.
  EXPECT_NEAR(sum / 8000, 255.0 / 256 / 8, 0.05 * 255.0 / 256 / 8);
}

TEST(Slopes, HeadsWithoutABiasComeLast) {
  ModelConfig model;
  model.heads = 8;
  model.biased_heads = 3;
  Slopes expected = press(3);
  expected.resize(8);
  EXPECT_EQ(alibi_slopes(model), expected);
}

TEST(Sinusoidal, EqualsTheScalarFormulaAtAnyPosition) {
  constexpr std::int64_t kWidth = 24;
  for (const std::int64_t position : {0, 5, 100'000}) {
    const torch::Tensor rows = sinusoidal_rows(position, 3, kWidth, torch::kCPU);
    ASSERT_EQ(rows.sizes(), (std::vector<std::int64_t>{3, kWidth}));
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t c = 0; c < kWidth / 2; ++c) {
        const double angle = static_cast<double>(position + t) /
                             std::pow(10000.0, 2.0 * static_cast<double>(c) / kWidth);
        // 1e-7: one rounding to fp32.
        EXPECT_NEAR(rows[t][c].item<double>(), std::sin(angle), 1e-7);
        EXPECT_NEAR(rows[t][c + kWidth / 2].item<double>(), std::cos(angle), 1e-7);
      }
    }
  }
}

TEST(Rotary, TurnsPairsByTheAngleOfTheirPosition) {
  torch::manual_seed(1);
  const torch::Tensor x = torch::randn({1, 1, 1, 8}, torch::kDouble);
  const torch::Tensor turned = rotate(x, 1000, rotation(x.size(3), 10000));
  for (std::int64_t c = 0; c < 4; ++c) {
    const double angle = 1000.0 * std::pow(10000.0, -2.0 * static_cast<double>(c) / 8);
    const double a = x.flatten()[c].item<double>(), b = x.flatten()[c + 4].item<double>();
    EXPECT_NEAR(turned.flatten()[c].item<double>(), a * std::cos(angle) - b * std::sin(angle),
                1e-12);
    EXPECT_NEAR(turned.flatten()[c + 4].item<double>(), b * std::cos(angle) + a * std::sin(angle),
                1e-12);
  }
}

TEST(Rotary, ProductsOfQueriesAndKeysSeeOnlyTheirDistance) {
  torch::manual_seed(2);
  const torch::Tensor q = torch::randn({2, 3, 20, 16}), k = torch::randn({2, 3, 20, 16});
  const auto products = [&](std::int64_t first) {
    return torch::matmul(rotate(q, first, rotation(q.size(3), 10000)),
                         rotate(k, first, rotation(k.size(3), 10000)).transpose(2, 3));
  };
  const torch::Tensor here = products(0);
  // 1e-5: sums of 16 fp32 products of normal numbers.
  EXPECT_LT((products(100'000) - here).abs().max().item<double>(), 1e-5);
  EXPECT_GT((torch::matmul(q, k.transpose(2, 3)) - here).abs().max().item<double>(), 0.1);
}

std::int64_t plain_bucket(std::int64_t distance, std::int64_t buckets, std::int64_t max_distance) {
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return distance;
  const double from = static_cast<double>(exact);
  const double share = std::log(static_cast<double>(distance) / from) /
                       std::log(static_cast<double>(max_distance) / from);
  // 1e-9: a logarithm that should be whole may fall just short of it.
  const double far = share * static_cast<double>(buckets - exact) + 1e-9;
  return std::min(buckets - 1, exact + static_cast<std::int64_t>(far));
}

TEST(T5Buckets, EqualTheScalarFormulaAndTheLastIsOpen) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {
      {32, 128}, {8, 64}, {4, 3}, {2, 64}, {7, 50}, {64, 1024}, {32, 256}, {16, 512}, {128, 4096}};
  for (const auto& [buckets, max_distance] : shapes) {
    const torch::Tensor found = t5_bucket(torch::arange(10'000), buckets, max_distance);
    for (std::int64_t d = 0; d < 10'000; ++d) {
      ASSERT_EQ(found[d].item<std::int64_t>(), plain_bucket(d, buckets, max_distance))
          << "distance " << d << " of " << buckets << " buckets up to " << max_distance;
    }
    for (const std::int64_t d : {max_distance, max_distance + 1, std::int64_t{1} << 40}) {
      EXPECT_EQ(t5_bucket(torch::tensor({d}), buckets, max_distance).item<std::int64_t>(),
                buckets - 1);
    }
    EXPECT_TRUE((found.diff() >= 0).all().item<bool>());
    EXPECT_EQ(found[0].item<std::int64_t>(), 0);
  }
}

// A method with a table of distances and its parameters, which a test may change.
struct SomeTable {
  explicit SomeTable(Position position, KerpleKernel kernel = KerpleKernel::kLog) {
    ModelConfig model;
    model.heads = 4;
    model.position = position;
    model.kerple_kernel = kernel;
    model.sandwich_width = 6;
    method = make_positions(model, [this](const std::string& name, const torch::Tensor& value) {
      return parameters[name] = value.clone().requires_grad_();
    });
  }
  torch::Tensor table_HL(std::int64_t keys) {
    const PositionChanges changes;
    return method->bias({0, keys, torch::kCPU, changes}).table_HL;
  }
  std::map<std::string, torch::Tensor> parameters;
  std::unique_ptr<Positions> method;
};

// Its formulas in loops, where heads differ.
TEST(Kerple, EqualsTheScalarFormula) {
  for (const KerpleKernel kernel : {KerpleKernel::kLog, KerpleKernel::kPower}) {
    SomeTable some(Position::kKerple, kernel);
    const bool log = kernel == KerpleKernel::kLog;
    const Slopes slopes = slopes_by_rule(SlopeRule::kPress, 4, 8);
    for (const float change : {0.0F, 0.7F}) {
      some.parameters["kerple_r1"].data() += change;
      some.parameters["kerple_r2"].data() += change;
      const torch::Tensor table_HL = some.table_HL(300);
      for (std::size_t h = 0; h < 4; ++h) {
        const double r1 = (log ? 1 : slopes[h]) * std::exp(change);
        const double r2 = log ? slopes[h] * std::exp(change) : 2 / (1 + std::exp(-change));
        for (std::int64_t d = 0; d < 300; ++d) {
          const auto distance = static_cast<double>(d);
          const double fall = log ? r1 * std::log(1 + r2 * distance) : r1 * std::pow(distance, r2);
          EXPECT_NEAR(table_HL[static_cast<std::int64_t>(h)][d].item<double>(), -fall,
                      1e-6 * (1 + fall))
              << h << ", " << d;
        }
      }
    }
  }
}

TEST(Bam, EqualsTheScalarFormulaAndStartsAsAlibi) {
  SomeTable some(Position::kBam);
  const Slopes slopes = slopes_by_rule(SlopeRule::kPress, 4, 8);
  for (const float change : {0.0F, -0.3F, -1.5F}) {
    some.parameters["bam_scale"].data().copy_(torch::tensor(slopes).log() + change);
    some.parameters["bam_shape"].data().fill_(1 + change);
    const torch::Tensor table_HL = some.table_HL(300);
    for (std::size_t h = 0; h < 4; ++h) {
      for (std::int64_t d = 0; d < 300; ++d) {
        const double power = std::pow(static_cast<double>(d) + 1e-5, 1 + change);
        const double fall = slopes[h] * std::exp(change) * power;
        EXPECT_NEAR(table_HL[static_cast<std::int64_t>(h)][d].item<double>(), -fall,
                    2e-6 * (1 + fall))
            << h << ", " << d;
      }
    }
  }
}

// Chi et al. 2023 make it of two positions' sines and cosines; here it is their difference's.
TEST(Sandwich, EqualsTheProductOfTwoPositions) {
  SomeTable some(Position::kSandwich);
  for (const std::int64_t keys : {40, 300, 20}) {
    const torch::Tensor table_HL = some.table_HL(keys);
    ASSERT_EQ(table_HL.size(1), keys);
    for (std::int64_t h = 0; h < 4; ++h) {
      for (std::int64_t d = 0; d < keys; ++d) {
        const double m = 1000, n = m - static_cast<double>(d);
        double product = 0;
        for (int i = 0; i < 3; ++i) {
          const double rate = std::pow(10000.0, -2.0 * i / 6);
          product +=
              std::sin(m * rate) * std::sin(n * rate) + std::cos(m * rate) * std::cos(n * rate);
        }
        EXPECT_NEAR(table_HL[h][d].item<double>(), product / (static_cast<double>(h + 1) * 8 / 4),
                    1e-6)
            << h << ", " << d;
      }
    }
  }
}

// p-RoPE: the slower pairs stay as they are.
TEST(Rotary, TurnsTheShareOfPairsThatIsFastest) {
  ModelConfig model;
  model.position = Position::kRotary;
  model.rotary_share = 0.75;
  const auto some = make_positions(model, nullptr);
  model.rotary_share = 1;
  const auto all = make_positions(model, nullptr);
  const torch::Tensor x = torch::randn({1, 2, 5, 16});
  const torch::Tensor found = some->turn(x, 1000, {}), whole = all->turn(x, 1000, {});
  for (std::int64_t c = 0; c < 16; ++c)
    EXPECT_TRUE(torch::equal(found.select(3, c), (c % 8 < 6 ? whole : x).select(3, c))) << c;
  EXPECT_FALSE(torch::equal(whole, x));
}

TEST(Rotary, ScalesByItsOwnKeysAsAnEvaluationDoes) {
  ModelConfig model;
  model.position = Position::kRotary;
  const auto plain = make_positions(model, nullptr);
  const torch::Tensor x = torch::randn({1, 2, 5, 64});
  for (const Stretch kind : {Stretch::kLinear, Stretch::kNtk, Stretch::kYarn}) {
    model.rotary_scaling = kind;
    model.rotary_scaling_factor = 4;
    model.rotary_original_length = 512;
    const torch::Tensor found = make_positions(model, nullptr)->turn(x, 1000, {});
    EXPECT_TRUE(torch::equal(found, plain->turn(x, 1000, {kind, 4, 512}))) << name_of(kind);
    EXPECT_FALSE(torch::equal(found, plain->turn(x, 1000, {})));
  }
}

TEST(Tables, HaveTheGradientOfTheirFormula) {
  for (const auto& [position, kernel] : {std::pair(Position::kKerple, KerpleKernel::kLog),
                                         std::pair(Position::kKerple, KerpleKernel::kPower),
                                         std::pair(Position::kBam, KerpleKernel::kLog)}) {
    SomeTable some(position, kernel);
    const torch::Tensor weight_HL = torch::rand({4, 50}, torch::kDouble);
    const auto sum = [&] { return (some.table_HL(50).to(torch::kDouble) * weight_HL).sum(); };
    sum().backward();
    for (auto& [name, parameter] : some.parameters) {
      for (std::int64_t h = 0; h < 4; ++h) {
        constexpr double kStep = 1e-2;
        double difference = 0;
        for (const double side : {1.0, -1.0}) {
          parameter.data()[h] += side * kStep;
          difference += side * sum().item<double>();
          parameter.data()[h] -= side * kStep;
        }
        const double found = parameter.grad()[h].item<double>();
        EXPECT_NEAR(found, difference / (2 * kStep), 1e-3 * std::abs(found)) << name << ", " << h;
      }
    }
  }
}

}  // namespace
}  // namespace alibi
