#include "experiment/paired.h"

#include <gtest/gtest.h>

#include <cmath>

namespace alibi {
namespace {

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

TEST(FillEstimates, TakesSplitsOverSeeds) {
  Comparison c;
  c.reference = "a";
  c.seeds = {1, 2};
  c.runs = {run_of("a", 1, 3.0), run_of("a", 2, 3.2)};
  const double early[] = {0.10, 0.20}, context[] = {-0.02, 0.04};
  for (std::size_t i = 0; i < 2; ++i) {
    c.runs[i].curve.points[0].early_gain = early[i];
    c.runs[i].curve.points[0].context_gain = context[i];
    c.runs[i].curve.points[0].change_from_1x = early[i] / 10;
  }
  c.variants.emplace_back().name = "a";
  c.variants[0].points.emplace_back().length = 64;
  fill_estimates(c);
  const ComparedPoint& point = c.variants[0].points[0];
  EXPECT_NEAR(point.early_gain.mean, 0.15, 1e-12);
  EXPECT_NEAR(point.context_gain.mean, 0.01, 1e-12);
  EXPECT_NEAR(point.context_gain.deviation, 0.06 / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(point.change.mean, 0.015, 1e-12);
}

TEST(FillEstimates, PairsKeyTokensOfOneSeed) {
  Comparison c;
  c.reference = "a";
  c.seeds = {1, 2};
  c.runs = {run_of("a", 1, 3), run_of("b", 1, 3), run_of("a", 2, 3), run_of("b", 2, 3)};
  const double key[] = {1.0, 1.25, 2.0, 2.5};
  for (std::size_t i = 0; i < 4; ++i) {
    c.runs[i].curve.points[0].key.loss.mean = key[i];
    c.runs[i].curve.points[0].key.context_gain.mean = key[i] / 10;
  }
  for (const char* name : {"a", "b"}) {
    c.variants.emplace_back().name = name;
    c.variants.back().points.emplace_back().length = 64;
  }
  fill_estimates(c);
  const ComparedPoint &a = c.variants[0].points[0], &b = c.variants[1].points[0];
  EXPECT_NEAR(b.key_loss.mean, 1.875, 1e-12);
  EXPECT_NEAR(b.key_context_gain.mean, 0.1875, 1e-12);
  EXPECT_NEAR(b.key_difference.mean, 0.375, 1e-12);
  EXPECT_EQ(b.key_difference.count, 2);
  EXPECT_EQ(a.key_difference.count, 0);
  EXPECT_NEAR(b.difference.mean, 0, 1e-12) << "of all targets";
}

TEST(FillEstimates, TakesVisitedSharesOverSeeds) {
  Comparison c;
  c.reference = "a";
  c.seeds = {1, 2, 3};
  c.runs = {run_of("a", 1, 3.0), run_of("a", 2, 3.2), run_of("a", 3, 3.1)};
  c.runs[0].curve.points[0].visited_share = 0.5;
  c.runs[1].curve.points[0].visited_share =
      0.25;  // the third was measured before they were counted
  c.variants.emplace_back().name = "a";
  c.variants[0].points.emplace_back().length = 64;
  fill_estimates(c);
  EXPECT_DOUBLE_EQ(c.variants[0].points[0].visited_share, 0.375);
}

// The mean over depths of each seed, then seeds paired; a depth without figures is left out.
TEST(FillEstimates, PairsAnswersOfOneSeed) {
  Comparison c;
  c.reference = "a";
  c.seeds = {1, 2};
  c.runs = {run_of("a", 1, 3.0), run_of("b", 1, 3.0), run_of("a", 2, 3.0), run_of("b", 2, 3.0)};
  const double losses[] = {2.0, 1.5, 4.0, 3.4}, shares[] = {0.5, 0.75, 0.25, 0.25};
  for (std::size_t i = 0; i < 4; ++i) {
    AnswersResult& answers = c.runs[i].answers.emplace_back();
    for (const double depth : {0.0, 0.5, 1.0}) {
      AnswersCell cell{.length = 64, .depth = depth};
      cell.size = 8;
      cell.loss.mean = losses[i] + depth;
      cell.share = shares[i];
      if (depth == 1.0) cell.note = "not measured";
      answers.cells.push_back(cell);
    }
  }
  ComparedTask task{"needle", "sentences", {}};
  for (const char* name : {"a", "b"}) {
    c.variants.emplace_back().name = name;
    task.variants.push_back({{.length = 64}, {.length = 128}});
  }
  c.tasks.push_back(task);
  fill_estimates(c);
  const auto& of_a = c.tasks[0].variants[0][0];
  const auto& of_b = c.tasks[0].variants[1][0];
  EXPECT_EQ(of_a.verdict, Verdict::kReference);
  EXPECT_NEAR(of_a.loss.mean, 3.25, 1e-12);
  EXPECT_NEAR(of_a.share.mean, 0.375, 1e-12);
  EXPECT_EQ(of_a.size, 8);
  EXPECT_NEAR(of_b.loss_difference.mean, -0.55, 1e-12);
  EXPECT_NEAR(of_b.share_difference.mean, 0.125, 1e-12);
  EXPECT_EQ(of_b.loss_difference.count, 2);
  EXPECT_EQ(c.tasks[0].variants[1][1].loss.count, 0) << "not asked at 128";
  // Where tokens differ, by right answers. Seen failing: by nats of other tokens.
  c.measure = Measure::kBitsPerByte;
  for (std::size_t i : {1, 3})
    for (AnswersCell& cell : c.runs[i].answers[0].cells) cell.share = shares[i - 1] + 0.25;
  fill_estimates(c);
  EXPECT_EQ(of_b.loss_difference.count, 0);
  EXPECT_EQ(of_b.share_difference.count, 2);
  EXPECT_EQ(of_b.verdict, Verdict::kBetter);
}

// Loss grows with the depth; where one run lacks the last, the difference is over those of both.
// Seen failing with means over each run's own depths: 0 and -1 in place of 0.5.
TEST(FillEstimates, PairsAnswersOfOneDepth) {
  Comparison c;
  c.reference = "a";
  c.seeds = {1};
  c.runs = {run_of("a", 1, 3.0), run_of("b", 1, 3.0)};
  for (std::size_t i = 0; i < 2; ++i) {
    AnswersResult& answers = c.runs[i].answers.emplace_back();
    for (const double depth : {0.0, 0.5, 1.0}) {
      AnswersCell cell{.length = 64, .depth = depth};
      cell.loss.mean = 1 + 4 * depth + (i == 1 ? 0.5 : 0.0);
      if (i == 1 && depth == 1.0) cell.note = kOutOfMemory;
      answers.cells.push_back(cell);
    }
  }
  ComparedTask task{"needle", "sentences", {}};
  for (const char* name : {"a", "b"}) {
    c.variants.emplace_back().name = name;
    task.variants.push_back({{.length = 64}});
  }
  c.tasks.push_back(task);
  fill_estimates(c);
  EXPECT_NEAR(c.tasks[0].variants[0][0].loss.mean, 3, 1e-12);
  EXPECT_NEAR(c.tasks[0].variants[1][0].loss.mean, 2.5, 1e-12);
  EXPECT_NEAR(c.tasks[0].variants[1][0].loss_difference.mean, 0.5, 1e-12);
}

FarContext far_of(std::int64_t window, std::vector<FarBin> bins) {
  return {window, 100, std::move(bins)};
}

// Bins are matched by what they are bins of; filling twice is filling once.
TEST(FillEstimates, TakesFarContextOverSeeds) {
  Comparison c;
  c.reference = "a";
  c.seeds = {1, 2, 3};
  c.runs = {run_of("a", 1, 3), run_of("a", 2, 3), run_of("a", 3, 3)};
  const auto bin = [](std::int64_t first, std::int64_t last, double cut) {
    FarBin one{first, last, 10, {}, {}, {}};
    one.cut = {cut, cut - 0.01, cut + 0.01};
    one.swapped.mean = 2 * cut;
    return one;
  };
  c.runs[0].curve.far_context = far_of(8, {bin(1, 1, 0.5), bin(2, 2, 0.3), bin(3, 4, 0.1)});
  c.runs[1].curve.far_context = far_of(8, {bin(1, 1, 0.7), bin(2, 2, 0.1), bin(3, 4, 0.3)});
  c.runs[2].curve.far_context = far_of(6, {bin(1, 1, 9.0), bin(2, 2, 9.0), bin(3, 3, 9.0)});
  c.variants.emplace_back().name = "a";
  for (int time = 0; time < 2; ++time) {
    fill_estimates(c);
    const auto& bins = c.variants[0].far_context;
    ASSERT_EQ(bins.size(), 3U);
    EXPECT_NEAR(bins[0].cut.mean, 0.6, 1e-12);
    EXPECT_NEAR(bins[1].swapped.mean, 0.4, 1e-12);
    EXPECT_EQ(bins[2].last, 4);
    for (const auto& far : bins)
      EXPECT_EQ(far.cut.count, 2) << "the third was read in windows of 6";
    EXPECT_NEAR(bins[2].cut.mean, 0.2, 1e-12);
  }
}

}  // namespace
}  // namespace alibi
