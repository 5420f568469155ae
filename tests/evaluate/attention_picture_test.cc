// What is drawn of a head, against sums by hand; curves with other slopes against models built
// with them.
#include "evaluate/attention_picture.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <tuple>

#include "evaluate/curve.h"
#include "evaluate/tiny_model.h"

namespace alibi {
namespace {

using test::some_targets;
using test::tiny;
using test::whole;

// The layer's queries and keys, from a pass of the test's own.
AttentionInputs inputs_of(LoadedModel& loaded, const std::vector<std::int64_t>& ids) {
  const torch::NoGradGuard guard;
  std::vector<AttentionInputs> inputs;
  ForwardOptions options;
  options.attention_inputs = [&](const AttentionInputs& layer) { inputs.push_back(layer); };
  loaded.model->hidden(torch::tensor(ids).unsqueeze(0), options);
  return inputs.front();
}

TEST(AttentionPicture, HasScoresAndBiasesOfEveryPair) {
  LoadedModel loaded = tiny("alibi");
  const auto targets = some_targets(100);
  const AttentionPicture picture = picture_attention(loaded, whole(targets, 16));
  ASSERT_EQ(picture.tokens.size(), 16U);
  const std::vector<std::int64_t> ids(targets.end() - 16, targets.end());
  const AttentionInputs inputs = inputs_of(loaded, ids);
  ASSERT_EQ(picture.layers.size(), 1U);
  ASSERT_EQ(picture.layers[0].size(), 2U);
  for (std::int64_t h = 0; h < 2; ++h) {
    const AttentionHead& head = picture.layers[0][std::size_t(h)];
    EXPECT_EQ(head.slope, loaded.model->slopes()[std::size_t(h)]);
    for (std::int64_t i = 0; i < 16; ++i) {
      EXPECT_NEAR(head.bias_by_distance[std::size_t(i)], -head.slope * double(i), 1e-6);
      for (std::int64_t j = 0; j < 16; ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < 8; ++d)
          score += inputs.q_BHTD[0][h][i][d].item<double>() *
                   inputs.k_BGSD[0][h][j][d].item<double>() / std::sqrt(8.0);
        EXPECT_NEAR(head.scores[std::size_t(16 * i + j)], j <= i ? score : 0, 1e-4);
      }
    }
  }
}

TEST(AttentionPicture, LeavesOutWhatAPatternHides) {
  LoadedModel loaded =
      tiny("alibi", {"model.attention_pattern=[\"heads 1: window(1) + global(1)\"]"});
  const AttentionPicture picture = picture_attention(loaded, whole(some_targets(100), 16));
  const AttentionHead& torn = picture.layers[0][1];
  EXPECT_TRUE(std::isnan(torn.scores[16 * 2 + 1]));
  EXPECT_TRUE(std::isfinite(torn.scores[16 * 2]) && std::isfinite(torn.scores[16 * 2 + 2]));
}

TEST(SlopeCurves, AreThoseOfModelsBuiltThatWay) {
  LoadedModel loaded = tiny("alibi");
  const TextSample sample = whole(some_targets(256), 32);
  std::int64_t told = 0, all = 0;
  const auto curves =
      slope_curves(loaded, sample, {16, 32}, [&](std::int64_t done, std::int64_t n) {
        told = done;
        all = n;
      });
  EXPECT_EQ(told, all);
  EXPECT_EQ(std::ssize(curves), all);
  const auto perplexity = [&](const std::vector<std::string>& keys) {
    LoadedModel built = tiny("alibi", keys);
    const Curve curve =
        measure_curve(built, sample, {.lengths = {16, 32}, .rules = {}, .progress = {}});
    return curve.points[1].perplexity;
  };
  const std::vector<std::tuple<std::string, double, std::vector<std::string>>> expected = {
      {"as trained", 1, {}},
      {"as trained", 2, {"model.slopes=[0.125, 0.0078125]"}},
      {"equal", 1, {"model.slope_rule=equal"}},
      {"exponential", 1, {"model.slope_rule=exponential"}}};
  std::int64_t compared = 0;
  std::set<std::string> rules;
  for (const SlopeCurve& curve : curves) {
    rules.insert(curve.rule);
    for (const auto& [rule, factor, keys] : expected) {
      if (curve.rule != rule || curve.factor != factor) continue;
      ++compared;
      EXPECT_NEAR(curve.perplexities[1], perplexity(keys), 1e-6) << rule << " times " << factor;
    }
  }
  EXPECT_EQ(compared, std::ssize(expected));
  // Two heads are a power of two: both published rules are what the model was trained with.
  EXPECT_EQ(rules, (std::set<std::string>{"as trained", "equal", "exponential", "none"}));
  EXPECT_EQ(curves.back().slopes, (std::vector<double>{0, 0}));
  EXPECT_TRUE(slope_curves(*std::make_unique<LoadedModel>(tiny("none")), sample, {16}, {}).empty());
}

}  // namespace
}  // namespace alibi
