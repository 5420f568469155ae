// Figures of heads, against sums by hand.
#include "evaluate/head_figures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/tiny_model.h"

namespace alibi {
namespace {

using test::some_targets;
using test::tiny;
using test::whole;

// With queries and keys of 0 the bias alone decides: weights e^(-slope d) over what a query sees.
LoadedModel by_bias_alone(const std::vector<std::string>& keys) {
  LoadedModel loaded = tiny("alibi", keys);
  for (auto& parameter : loaded.model->named_parameters()) {
    if (parameter.key().find("qkv") != std::string::npos) parameter.value().data().zero_();
  }
  return loaded;
}

TEST(HeadFigures, ReachAndDistanceAreThoseOfTheWeights) {
  LoadedModel loaded = by_bias_alone({"model.slopes=[1, 0.05]"});
  const auto all = measure_heads(loaded, whole(some_targets(100), 16), {16});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].length, 16);
  EXPECT_EQ(all[0].windows, 4);
  for (std::size_t h = 0; h < 2; ++h) {
    const double slope = loaded.model->slopes()[h];
    std::vector<double> weight(16);
    for (int query = 8; query < 16; ++query) {
      double sum = 0;
      for (int d = 0; d <= query; ++d) sum += std::exp(-slope * d);
      for (int d = 0; d <= query; ++d) weight[std::size_t(d)] += std::exp(-slope * d) / sum / 8;
    }
    double mean = 0, within = 0;
    int reach = 0;
    for (int d = 0; d < 16; ++d) {
      mean += weight[std::size_t(d)] * d;
      within += weight[std::size_t(d)];
      if (within < 0.9) ++reach;
    }
    EXPECT_NEAR(all[0].layers[0][h].mean_distance, mean, 1e-6);
    EXPECT_EQ(all[0].layers[0][h].reach, reach);
  }
  EXPECT_LT(all[0].layers[0][0].reach, all[0].layers[0][1].reach);
}

// bf16 holds weights down to e^-92.5, fp32 down to e^-103.6.
TEST(HeadFigures, SayWhichHeadsAreBlindAndWhichCollapsed) {
  LoadedModel loaded = by_bias_alone(
      {"model.slopes=[24.5, 1e-9]",
       "model.attention_pattern=[\"heads 0: window(8)\", \"heads 1: window(1) + global(1)\"]"});
  const auto all = measure_heads(loaded, whole(some_targets(100), 16), {16});
  const HeadFigures &steep = all[0].layers[0][0], &torn = all[0].layers[0][1];
  EXPECT_DOUBLE_EQ(steep.blind_bf16, 4.0 / 8) << "distances 4 to 7: from e^-98 on";
  EXPECT_DOUBLE_EQ(steep.blind_fp32, 3.0 / 8);
  EXPECT_NEAR(steep.first_token, 0, 1e-12);
  EXPECT_EQ(torn.blind_bf16, 0);
  EXPECT_NEAR(torn.first_token, 0.5, 1e-7) << "sees itself and the first";
}

// A slope that is no trouble at the trained length blinds the head beyond it: e^(-d / 4) over their
// sum, 1 / (1 - e^(-1 / 4)), is 0 in bf16 from a distance of 366 on. Seen failing with the figures
// of a window of the trained length.
// Seen failing: documents were looked at as one text.
TEST(HeadFigures, KeepDocumentsApartAsTheModelDoes) {
  LoadedModel loaded = tiny("none", {"data.separate_documents=true"});
  const auto heads = measure_heads(loaded, whole(some_targets(512), 128), {128}, {});
  for (const HeadFigures& head : heads.front().layers.front())
    EXPECT_LT(head.reach, 23) << "tokens of a document";
}

TEST(HeadFigures, AreThoseOfEachLength) {
  LoadedModel loaded = by_bias_alone({"model.slopes=[0.25, 1e-9]"});
  const auto all = measure_heads(loaded, whole(some_targets(3000), 1024), {16, 1024});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].layers[0][0].blind_bf16, 0);
  EXPECT_EQ(all[1].length, 1024);
  EXPECT_EQ(all[1].windows, 2);
  double blind = 0, seen = 0;
  for (int row = 0; row < 32; ++row) {
    const int i = 1023 - 16 * row;
    blind += i + 1 - 366;
    seen += i + 1;
  }
  EXPECT_DOUBLE_EQ(all[1].layers[0][0].blind_bf16, blind / seen);
  EXPECT_GT(all[1].layers[0][1].reach, 500) << "all keys alike";
  EXPECT_EQ(all[1].layers[0][1].blind_bf16, 0);
  EXPECT_EQ(all[1].layers[0][1].visited_share, 1);
  EXPECT_LT(all[1].layers[0][0].visited_share, 0.6);
}

// Every window counts: each has the mean of its own first token's weight.
TEST(HeadFigures, AreMeansOverWindowsSpreadOverTheText) {
  LoadedModel loaded = tiny("alibi");
  const auto targets = some_targets(64);
  const auto first_token = [&](const std::vector<std::int32_t>& ids) {
    return measure_heads(loaded, whole(ids, 16), {16})[0].layers[0][0].first_token;
  };
  double mean = 0;
  for (int w = 0; w < 4; ++w)
    mean += first_token({targets.begin() + 16 * w, targets.begin() + 16 * (w + 1)}) / 4;
  EXPECT_NEAR(first_token(targets), mean, 1e-9);
  EXPECT_GT(std::abs(first_token({targets.begin(), targets.begin() + 16}) - mean), 1e-6);
}

// Seen failing where the layer of windows had no share, either.
TEST(HeadFigures, CountBlocksOfTheLayersThatCanBeCounted) {
  LoadedModel loaded = tiny("alibi", {"model.layers=2", "runtime.attention.skip=off",
                                      "model.attention_pattern=[\"layers 0: lsh(4, 6, 2)\", "
                                      "\"layers 1: window(64)\"]"});
  const auto all = measure_heads(loaded, whole(some_targets(256), 256), {256});
  for (std::size_t h = 0; h < 2; ++h) {
    EXPECT_TRUE(std::isnan(all[0].layers[0][h].visited_share));
    EXPECT_GT(all[0].layers[0][h].reach, 0);
    EXPECT_DOUBLE_EQ(all[0].layers[1][h].visited_share, 7.0 / 10) << "its own block and one before";
  }
  EXPECT_EQ(loaded.model->uncounted_kernel(0, torch::kCPU), "lsh");
  EXPECT_EQ(loaded.model->uncounted_kernel(1, torch::kCPU), "");
}

}  // namespace
}  // namespace alibi
