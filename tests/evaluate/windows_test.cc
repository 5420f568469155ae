// Windows, lengths and what every length scores.
#include <gtest/gtest.h>

#include "base/error.h"
#include "evaluate/protocol.h"
#include "evaluate/score.h"
#include "support/error_text.h"

namespace alibi {
namespace {

// How many inputs each target is predicted from; fails when one is scored twice or never.
std::vector<std::int64_t> contexts(const std::vector<Window>& windows, std::int64_t targets) {
  std::vector<std::int64_t> context(static_cast<std::size_t>(targets), 0);
  for (const Window& window : windows) {
    EXPECT_GE(window.first, 0);
    EXPECT_LE(window.first + window.length, targets);
    EXPECT_LE(window.scored, window.length);
    for (std::int64_t i = window.length - window.scored; i < window.length; ++i) {
      std::int64_t& seen = context[static_cast<std::size_t>(window.first + i)];
      EXPECT_EQ(seen, 0) << "target " << window.first + i << " is scored twice";
      seen = i + 1;
    }
  }
  for (const std::int64_t seen : context) EXPECT_GT(seen, 0) << "a target is not scored";
  return context;
}

TEST(Windows, NonOverlappingScoreEachTargetOnce) {
  for (const std::int64_t targets : {1, 2, 7, 8, 9, 64, 100}) {
    for (const std::int64_t length : {1, 2, 7, 8, 64, 200}) {
      const auto context = contexts(windows_of(targets, length), targets);
      for (std::int64_t i = 0; i < targets; ++i)
        EXPECT_EQ(context[static_cast<std::size_t>(i)], i % length + 1);
    }
  }
}

TEST(Windows, SlidingScoreEachTargetOnceWithEnoughContext) {
  for (const std::int64_t targets : {1, 2, 7, 8, 9, 64, 100}) {
    for (const std::int64_t length : {1, 2, 7, 8, 64, 200}) {
      for (std::int64_t stride = 1; stride <= length; stride += length > 10 ? 13 : 1) {
        const auto context = contexts(windows_of(targets, length, stride), targets);
        for (std::int64_t i = 0; i < targets; ++i) {
          // All there is, else at least what the stride leaves of the window.
          const std::int64_t seen = context[static_cast<std::size_t>(i)];
          EXPECT_LE(seen, std::min(i + 1, length));
          EXPECT_GE(seen, std::min(i + 1, length - stride + 1))
              << i << " " << length << " " << stride;
        }
      }
    }
  }
}

TEST(Windows, AStrideOfTheWholeWindowIsNonOverlapping) {
  EXPECT_EQ(windows_of(96, 32, 32), windows_of(96, 32));
  EXPECT_EQ(windows_of(5, 4, 1),
            (std::vector<Window>{{0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {0, 4, 1}, {1, 4, 1}}));
}

TEST(Lengths, AreMultiplesOrAbsoluteSortedWithTheTrainedOne) {
  EXPECT_EQ(parse_lengths({"4x", "1x", "2x"}, 128), (std::vector<std::int64_t>{128, 256, 512}));
  EXPECT_EQ(parse_lengths({"64", "0.5x", "2.5x"}, 128), (std::vector<std::int64_t>{64, 128, 320}));
  EXPECT_EQ(parse_lengths({"1", "128"}, 128), (std::vector<std::int64_t>{1, 128}));
  EXPECT_EQ(parse_lengths({}, 128), (std::vector<std::int64_t>{128}));
}

TEST(Lengths, RefusesWhatIsNoLength) {
  for (const char* text :
       {"",    "x",   "0",   "0x", "-1",     "-1x",  "1.5", "0x10", "1e3",           "inf",
        "nan", "4 x", " 4x", "4X", "1.2.3x", "1.3x", ".x",  ".",    "9999999999999", "4xx"}) {
    EXPECT_ERROR_AT(error_text([&] { parse_lengths({text}, 128); }), "evaluate.lengths",
                    cat("\"", text, "\""));
  }
  EXPECT_NAMES(way_out_of(error_text([&] { parse_lengths({"1.3x"}, 128); })), "1x", 128);
}

EvaluateConfig rules_of(Protocol protocol, std::int64_t most) {
  EvaluateConfig rules;
  rules.protocol = protocol;
  rules.max_tokens = most;
  return rules;
}

TEST(SampleRule, WindowsOfTheLongestLengthInGroupsThatAllLengthsDivide) {
  const auto rule = [](const std::vector<std::int64_t>& lengths, std::int64_t most) {
    return sample_rule(lengths, rules_of(Protocol::kNonOverlapping, most));
  };
  EXPECT_EQ(rule({128, 256, 512, 1280}, 1'000'000).window, 1280);
  EXPECT_EQ(rule({128, 256, 512, 1280}, 1'000'000).group, 2);  // 512 does not divide 1280
  EXPECT_EQ(rule({128, 256, 512, 1280}, 20'000).group, 1);     // fewer than 8 groups would fit
  EXPECT_EQ(rule({16, 32, 64}, 1'000'000).group, 1);
  EXPECT_EQ(rule({7, 11, 13}, 1'000'000).group, 77);
  EXPECT_EQ(rule({999'999'999'989, 999'999'999'999}, 1'000'000).group, 1);
  EXPECT_EQ(rule({16, 32}, 100).context, 1);
  EXPECT_EQ(sample_rule({16, 32}, rules_of(Protocol::kSliding, 100)).context, 32);
}

TEST(SampleRule, WhatLooksBackKeepsAWindowOfContext) {
  EvaluateConfig split = rules_of(Protocol::kNonOverlapping, 100'000);
  split.split_stride = 4;
  EXPECT_EQ(sample_rule({16, 32}, split).context, 32);
  EXPECT_EQ(sample_rule({16, 32}, rules_of(Protocol::kStreaming, 100)).context, 32);
  EvaluateConfig keys = rules_of(Protocol::kNonOverlapping, 100'000);
  keys.key_tokens.evaluator = "runs/judge";
  EXPECT_EQ(sample_rule({16, 32}, keys).context, 32);
  keys.key_tokens.long_length = 64;
  EXPECT_EQ(sample_rule({16, 32}, keys).context, 64);
  EXPECT_EQ(sample_rule({7, 11, 13}, rules_of(Protocol::kOnePass, 1'000'000)).group, 1);
}

TEST(Rules, WhatTheShortestLengthCannotHoldIsRefused) {
  Config config;
  const auto fault = [&] { return error_text([&] { check_rules({16, 32}, config); }); };
  config.evaluate = rules_of(Protocol::kSliding, 100);
  config.evaluate.stride = 17;
  EXPECT_ERROR_AT(fault(), "/evaluate/stride", 17, 16);
  config.evaluate = rules_of(Protocol::kStreaming, 100);
  config.evaluate.sinks = 16;
  EXPECT_ERROR_AT(fault(), "/evaluate/sinks", 16, 15);
  config.evaluate.sinks = 15;
  EXPECT_NO_THROW(check_rules({16, 32}, config));
}

// In a rolling cache a key's place is not that in the text.
TEST(Rules, StreamingTakesPatternsOfDistancesOnly) {
  Config config;
  config.evaluate = rules_of(Protocol::kStreaming, 100);
  config.model.attention_pattern = {"window(8)", "layers 1 heads 0: strided(4)"};
  EXPECT_NO_THROW(check_rules({16, 32}, config));
  for (const char* part : {"fixed(8, 1)", "blockwise(8)", "random(1)", "window(8) + global(1)"}) {
    config.model.attention_pattern = {cat("layers 1 heads 7: ", part)};
    EXPECT_ERROR_AT(error_text([&] { check_rules({16, 32}, config); }), "/evaluate/protocol");
  }
  config.evaluate.protocol = Protocol::kSliding;
  EXPECT_NO_THROW(check_rules({16, 32}, config));
}

TEST(SampleRule, ATextWithoutAWindowIsRefused) {
  const TextSample sample{.ids = {}, .runs = {}, .rule = {.window = 300}, .available = 299};
  EXPECT_ERROR_AT(error_text([&] { check_sample(sample, "a.txt"); }), "a.txt", 299, 300);
}

}  // namespace
}  // namespace alibi
