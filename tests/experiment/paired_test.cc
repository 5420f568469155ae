#include "experiment/paired.h"

#include <gtest/gtest.h>

#include <cmath>

namespace alibi {
namespace {

TEST(StudentT, IsThatOfTheTables) {
  const std::pair<int, double> table[] = {{1, 12.706}, {2, 4.303}, {3, 3.182},  {4, 2.776},
                                          {5, 2.571},  {9, 2.262}, {10, 2.228}, {29, 2.045},
                                          {30, 2.042}, {99, 1.984}};
  for (const auto& [degrees, t] : table) EXPECT_NEAR(student_t_95(degrees), t, 5e-4) << degrees;
}

TEST(Estimate, IsMeanSpreadAndInterval) {
  const double values[] = {2, 4, 6};
  const Estimate e = estimate(values);
  EXPECT_EQ(e.count, 3);
  EXPECT_DOUBLE_EQ(e.mean, 4);
  EXPECT_DOUBLE_EQ(e.deviation, 2);
  EXPECT_NEAR(e.error, 2 / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(e.high - e.mean, 4.3027 * 2 / std::sqrt(3.0), 1e-3);
  EXPECT_NEAR(e.mean - e.low, e.high - e.mean, 1e-12);
}

TEST(Estimate, LeavesOutWhatWasNotMeasured) {
  const double values[] = {kNotMeasured, 5, kNotMeasured};
  const Estimate one = estimate(values);
  EXPECT_EQ(one.count, 1);
  EXPECT_EQ(one.mean, 5);
  EXPECT_TRUE(std::isnan(one.low) && std::isnan(one.deviation)) << "one value has no spread";
  EXPECT_EQ(estimate({}).count, 0);
}

TEST(Judge, NeedsTheWholeIntervalOnOneSide) {
  const auto verdict = [](std::initializer_list<double> values) {
    return judge(estimate({values.begin(), values.size()}));
  };
  EXPECT_EQ(verdict({-0.10, -0.11, -0.12}), Verdict::kBetter);
  EXPECT_EQ(verdict({0.10, 0.11, 0.12}), Verdict::kWorse);
  EXPECT_EQ(verdict({-0.10, -0.01, -0.12}), Verdict::kNoise);
  EXPECT_EQ(verdict({-0.10}), Verdict::kUnknown);
}

ComparedRun run_of(const std::string& variant, std::int64_t seed, double loss) {
  ComparedRun run;
  run.variant = variant;
  run.seed = seed;
  run.train_seconds = 10 * static_cast<double>(seed);
  run.peak_memory_bytes = 100 + seed;
  CurvePoint point;
  point.length = 64;
  point.loss = loss;
  point.bits_per_byte = loss / 2;
  run.curve.points = {point};
  return run;
}

// Losses that differ more from seed to seed than between variants: only pairs show the difference.
TEST(FillEstimates, PairsRunsOfOneSeed) {
  Comparison c;
  c.reference = "a";
  c.seeds = {1, 2, 3};
  c.runs = {run_of("a", 1, 3.0), run_of("b", 1, 2.9), run_of("b", 2, 3.39),
            run_of("a", 2, 3.5), run_of("a", 3, 4.0), run_of("b", 3, 3.91)};
  for (const char* name : {"a", "b"}) {
    ComparedVariant variant;
    variant.name = name;
    variant.points.emplace_back().length = 64;
    c.variants.push_back(variant);
  }
  fill_estimates(c);
  EXPECT_EQ(c.variants[0].points[0].verdict, Verdict::kReference);
  const ComparedPoint& b = c.variants[1].points[0];
  EXPECT_NEAR(b.difference.mean, -0.1, 1e-9);
  EXPECT_NEAR(b.difference.deviation, 0.01, 1e-9);
  EXPECT_EQ(b.verdict, Verdict::kBetter);
  EXPECT_NEAR(b.loss.mean, 3.4, 1e-9);
  EXPECT_NEAR(b.perplexity, std::exp(3.4), 1e-9);
  EXPECT_EQ(c.variants[1].train_seconds, 20);
  EXPECT_EQ(c.variants[1].peak_memory_bytes, 103);
  c.measure = Measure::kBitsPerByte;
  fill_estimates(c);
  EXPECT_NEAR(c.variants[1].points[0].difference.mean, -0.05, 1e-9);
  c.runs.pop_back();  // seed 3 of b failed
  fill_estimates(c);
  EXPECT_EQ(c.variants[1].points[0].difference.count, 2);
}

}  // namespace
}  // namespace alibi
