// Scores against token-by-token arithmetic, and the figures of a curve against each other.
#include <gtest/gtest.h>

#include <cmath>

#include "device/libtorch.h"
#include "evaluate/curve.h"
#include "evaluate/protocol.h"
#include "evaluate/score.h"
#include "evaluate/tiny_model.h"
#include "support/error_text.h"

namespace alibi {
namespace {

using test::some_targets;
using test::tiny;
using test::whole;

// -log p(target `at` | the `context` inputs before it), one forward pass for this token alone.
double direct(LoadedModel& loaded, const std::vector<std::int32_t>& targets, std::int64_t at,
              std::int64_t context) {
  const torch::NoGradGuard guard;
  std::vector<std::int64_t> inputs;
  for (std::int64_t i = at - context + 1; i <= at; ++i)
    inputs.push_back(i == 0 ? Tokenizer::kEnd : targets[static_cast<std::size_t>(i - 1)]);
  const torch::Tensor tokens = torch::tensor(inputs, torch::kLong).unsqueeze(0);
  const torch::Tensor logits =
      loaded.model->logits(loaded.model->hidden(tokens)).index({0, context - 1}).to(torch::kDouble);
  return -torch::log_softmax(logits, 0)[targets[static_cast<std::size_t>(at)]].item<double>();
}

TEST(Score, EqualsOneForwardPassPerToken) {
  for (const char* position : {"alibi", "rotary", "learned"}) {
    LoadedModel loaded = tiny(position);
    const auto targets = some_targets(50);
    for (const auto stride : {std::optional<std::int64_t>(), std::optional<std::int64_t>(5)}) {
      const auto windows = windows_of(50, 12, stride);
      ScoringOptions options;
      options.batch_tokens = 30;  // two windows and a half
      options.chunk_rows = 7;
      const std::vector<float> losses = score(loaded.model, targets, windows, options);
      for (const Window& window : windows) {
        for (std::int64_t i = window.length - window.scored; i < window.length; ++i) {
          const std::int64_t at = window.first + i;
          EXPECT_NEAR(losses[static_cast<std::size_t>(at)], direct(loaded, targets, at, i + 1),
                      2e-5)
              << position << " " << at;
        }
      }
    }
  }
}

TEST(Score, DoesNotDependOnHowWindowsAreBatched) {
  LoadedModel loaded = tiny("alibi");
  const auto targets = some_targets(100);
  const auto windows = windows_of(100, 16);
  ScoringOptions one, all;
  one.batch_tokens = 1;
  all.batch_tokens = 1 << 20;
  const auto a = score(loaded.model, targets, windows, one);
  const auto b = score(loaded.model, targets, windows, all);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

// With separate documents a token's loss is what its document alone gives.
TEST(Score, SeparateDocumentsSeeThemselvesOnly) {
  LoadedModel loaded = tiny("alibi");
  const auto targets = some_targets(44);  // documents end at 22 and 45
  ScoringOptions options;
  options.separate_documents = true;
  const auto losses = score(loaded.model, targets, windows_of(44, 44), options);
  // Target 23 is the first of its document: its only input is the end token, as for target 0.
  for (const std::int64_t at : {23, 24, 30, 43})
    EXPECT_NEAR(losses[static_cast<std::size_t>(at)], direct(loaded, targets, at, at - 22), 2e-5);
}

Curve measure(LoadedModel& loaded, const CurveOptions& options, std::int64_t count = 256) {
  return measure_curve(loaded, whole(some_targets(count), options.lengths.back()), options);
}

TEST(Curve, FiguresAgreeWithEachOther) {
  LoadedModel loaded = tiny("alibi");
  std::int64_t last = 0;
  CurveOptions options{.lengths = {8, 16, 32, 64}, .rules = {}, .progress = {}};
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 4 * 256);
    EXPECT_GE(done, last);
    last = done;
  };
  const Curve curve = measure(loaded, options);
  EXPECT_EQ(last, 4 * 256);
  EXPECT_EQ(curve.trained_length, 16);
  EXPECT_EQ(curve.sequence_length, 32);
  EXPECT_EQ(curve.position, "alibi");
  ASSERT_EQ(curve.points.size(), 4U);
  const auto targets = some_targets(256);
  double bytes = 0;
  for (const std::int32_t id : targets) bytes += id == Tokenizer::kEnd ? 0 : 1;
  const CurvePoint& base = curve.points[1];
  for (const CurvePoint& point : curve.points) {
    EXPECT_EQ(point.targets, 256);  // every length scores the same targets
    EXPECT_TRUE(point.applicable);
    EXPECT_DOUBLE_EQ(point.perplexity, std::exp(point.loss));
    EXPECT_LE(point.loss_low, point.loss);
    EXPECT_GE(point.loss_high, point.loss);
    EXPECT_DOUBLE_EQ(point.perplexity_low, std::exp(point.loss_low));
    EXPECT_LT(point.loss_joint_low, point.loss);
    EXPECT_GT(point.loss_joint_high, point.loss);
    EXPECT_NEAR(point.bits_per_byte, point.loss / std::log(2.0) * 256 / bytes, 1e-9);
    EXPECT_NEAR(point.change_from_1x, point.perplexity / base.perplexity - 1, 1e-9);
    EXPECT_DOUBLE_EQ(point.multiple, static_cast<double>(point.length) / 16);
    EXPECT_GT(point.tokens_per_second, 0);
    EXPECT_GT(point.peak_memory_bytes, 0);
  }
  EXPECT_EQ(base.change_from_1x, 0);
  EXPECT_EQ(base.change_low, 0);
  EXPECT_EQ(base.change_high, 0);
}

TEST(Curve, EachPointIsTheMeanOfItsScores) {
  LoadedModel loaded = tiny("alibi");
  const Curve curve = measure(loaded, {.lengths = {16, 64}, .rules = {}, .progress = {}});
  const auto targets = some_targets(256);
  for (const CurvePoint& point : curve.points) {
    const auto losses =
        score(loaded.model, targets, windows_of(256, point.length), ScoringOptions());
    EXPECT_NEAR(point.loss, mean_of(losses), 1e-5);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    double sum = 0;
    std::int64_t count = 0, next = 1;
    for (const PositionBin& bin : curve.loss_by_position[i].bins) {
      EXPECT_EQ(bin.first, next);
      next = bin.last + 1;
      sum += bin.loss * static_cast<double>(bin.count);
      count += bin.count;
    }
    EXPECT_EQ(next - 1, curve.points[i].length);
    EXPECT_EQ(count, 256);
    EXPECT_NEAR(sum / 256, curve.points[i].loss, 1e-6);
  }
}

// A sampled text gives each of its targets the loss that the whole text gives it.
TEST(Score, ASampleScoresAsTheWholeTextDoes) {
  LoadedModel loaded = tiny("alibi");
  const auto targets = some_targets(400);
  for (const bool slides : {false, true}) {
    const std::int64_t context = slides ? 16 : 1;
    TextSample sample;  // targets 0 ... 31 and 160 ... 191
    sample.ids.assign(targets.begin(), targets.begin() + 32);
    sample.ids.insert(sample.ids.end(), targets.begin() + 160 - context, targets.begin() + 192);
    sample.runs = {{0, 32, 0}, {32 + context, 32, context}};
    for (const std::int64_t length : {4, 16}) {
      const auto losses = [&](const std::vector<std::int32_t>& ids,
                              const std::vector<Window>& windows) {
        return score(loaded.model, ids, windows, ScoringOptions());
      };
      const auto stride = slides ? std::optional(length / 4) : std::nullopt;
      const auto all = losses(targets, windows_of(400, length, stride));
      const auto some =
          scored_losses(sample, losses(sample.ids, windows_of(sample, length, stride)));
      ASSERT_EQ(some.size(), 64U);
      for (std::size_t i = 0; i < some.size(); ++i)
        EXPECT_NEAR(some[i], all[i < 32 ? i : i + 128], 1e-5) << length << " " << i;
    }
  }
}

TEST(Curve, SlidingUsesItsStride) {
  LoadedModel loaded = tiny("alibi");
  CurveOptions options{.lengths = {16, 32}, .rules = {}, .progress = {}};
  options.rules.protocol = Protocol::kSliding;
  const Curve half = measure(loaded, options);
  options.rules.stride = 8;
  const Curve eight = measure(loaded, options);
  EXPECT_EQ(half.points[0].loss, eight.points[0].loss);
  EXPECT_NE(half.points[1].loss, eight.points[1].loss);
  EXPECT_TRUE(half.loss_by_position.empty());
  loaded.config.evaluate = options.rules;
  const CurveProtocol words = describe_protocol(loaded.config, loaded.device);
  EXPECT_EQ(words.name, Protocol::kSliding);
  EXPECT_EQ(words.stride, 8);
  EXPECT_NAMES(words.description, 8);
}

// One head sees its own block of keys and the one before, the other all: of 1 + 2 + 3 + 4 blocks of
// a window of 256 that is 7 and 10, of a last window of 128 all 3. Seen failing where no share was
// kept, and where the short window counted as much as a long one.
TEST(Curve, CountsTheBlocksThatWereVisited) {
  const std::vector<std::string> pattern = {"runtime.attention.skip=off",
                                            "model.attention_pattern=[\"heads 0: window(64)\"]"};
  LoadedModel loaded = tiny("alibi", pattern);
  CurveOptions options{.lengths = {16, 256}, .rules = {}, .progress = {}};
  const auto share_at_the_longest = [&](LoadedModel& model) {
    return measure(model, options, 640).points[1].visited_share;
  };
  EXPECT_EQ(measure(loaded, options, 640).points[0].visited_share, 1);
  EXPECT_NEAR(share_at_the_longest(loaded), (17 + 23) / 46.0, 1e-6);
  options.rules.batch_tokens = 256;
  EXPECT_NEAR(share_at_the_longest(loaded), (17 + 23) / 46.0, 1e-6);
  options.rules.protocol = Protocol::kOnePass;
  EXPECT_NEAR(share_at_the_longest(loaded), (7 + 10) / 20.0, 1e-6) << "whole windows only";
  options.rules.protocol = Protocol::kStreaming;
  options.rules.sinks = 0;
  LoadedModel plain = tiny("alibi");
  EXPECT_TRUE(std::isnan(share_at_the_longest(plain))) << "a cache is no window";
  options.rules.protocol = Protocol::kNonOverlapping;
  EXPECT_GT(share_at_the_longest(plain), 0);
  LoadedModel hashed = tiny("alibi", {"model.attention_pattern=[\"lsh(4, 6, 2)\"]"});
  EXPECT_TRUE(std::isnan(share_at_the_longest(hashed)));
  LoadedModel reference = tiny("alibi", {"runtime.attention.kernel=reference"});
  EXPECT_TRUE(std::isnan(share_at_the_longest(reference)));
}

// The model's own slopes divided by two, and the same weights, by hand.
TEST(Curve, StretchedPositionsAreThoseOfAModelBuiltThatWay) {
  LoadedModel plain = tiny("alibi"), built = tiny("alibi", {"model.slopes=[0.03125, 0.001953125]"});
  ASSERT_EQ(plain.model->slopes(), (std::vector<double>{0.0625, 0.00390625}));
  CurveOptions options{.lengths = {16, 32}, .rules = {}, .progress = {}};
  const Curve same = measure(plain, options), expected = measure(built, options);
  options.rules.stretch = Stretch::kLinear;
  const Curve stretched = measure(plain, options);
  EXPECT_EQ(stretched.points[0].loss, same.points[0].loss) << "1x stays as it is";
  EXPECT_EQ(stretched.points[1].loss, expected.points[1].loss) << "32 is twice the trained length";
  EXPECT_NE(stretched.points[1].loss, same.points[1].loss);
  options.rules.stretch_factor = 2;
  EXPECT_EQ(measure(plain, options).points[0].loss, expected.points[0].loss);
  plain.config.evaluate = options.rules;
  EXPECT_NAMES(describe_protocol(plain.config, torch::kCPU).treatment, "linear", 2);
}

TEST(Curve, LearnedPositionsBeyondTheirTableAreNotApplicable) {
  LoadedModel loaded = tiny("learned", {"model.max_sequence_length=32"});
  const Curve curve = measure(loaded, {.lengths = {16, 32, 64}, .rules = {}, .progress = {}});
  ASSERT_EQ(curve.points.size(), 3U);
  EXPECT_TRUE(curve.points[0].applicable);
  EXPECT_TRUE(curve.points[1].applicable);
  EXPECT_FALSE(curve.points[2].applicable);
  EXPECT_NAMES(curve.points[2].note, "learned", 32);
  EXPECT_TRUE(std::isnan(curve.points[2].loss));
  CurveSet set;
  set.protocol = describe_protocol(loaded.config, loaded.device);
  set.curves.push_back(curve);
  EXPECT_NAMES(curve_table(set), curve.points[2].note);
}

}  // namespace
}  // namespace alibi
