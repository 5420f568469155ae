// Key tokens against losses of one target at a time.
#include "evaluate/key_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "evaluate/score.h"
#include "evaluate/tiny_model.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

constexpr std::int64_t kTargets = 96;

// A model whose checkpoint is no more than its manifest.
LoadedModel evaluator(const TemporaryFolder& folder, const std::string& position = "alibi") {
  LoadedModel loaded = test::tiny(position);
  loaded.folder = folder.path();
  write_file_atomic(folder.path() / "manifest.json", "{}");
  return loaded;
}

// Of the target `at` under windows of `length` tokens that slide by half of it: the one that scores
// it in its last half begins at a multiple of a half (the first scores all of it).
double loss_under(LoadedModel& loaded, const std::vector<std::int32_t>& targets, std::int64_t at,
                  std::int64_t length) {
  const std::int64_t half = length / 2;
  const std::int64_t first = std::max<std::int64_t>(0, at / half - 1) * half;
  const std::vector<Window> window = {{first, at - first + 1, 1}};
  return score(loaded.model, targets, window, {})[static_cast<std::size_t>(at)];
}

TEST(KeyTokens, AreHardWithTheShortContextAndEasyWithTheLongOne) {
  constexpr double kGain = 0.05, kLoss = 5.5;
  const TemporaryFolder folder;
  LoadedModel loaded = evaluator(folder);
  const auto targets = test::some_targets(kTargets);
  const KeyTokens found =
      find_key_tokens(loaded, test::whole(targets, 32), {.wanted = {"e", 4, 32, kGain, kLoss}});
  EXPECT_EQ(found.rule.short_length, 4);
  EXPECT_EQ(found.rule.long_length, 32);
  EXPECT_EQ(found.rule.evaluator_sha256.size(), 64U);
  ASSERT_EQ(std::ssize(found.is_key), kTargets);
  std::int64_t keys = 0, gaining = 0;
  for (std::int64_t at = 0; at < kTargets; ++at) {
    const double longer = loss_under(loaded, targets, at, 32);
    const bool gains = loss_under(loaded, targets, at, 4) - longer > kGain;
    const bool is_key = gains && longer < kLoss;
    EXPECT_EQ(found.is_key[static_cast<std::size_t>(at)] != 0, is_key) << at;
    keys += is_key ? 1 : 0;
    gaining += gains ? 1 : 0;
  }
  EXPECT_EQ(found.rule.tokens, keys);
  EXPECT_GT(keys, 3);
  EXPECT_LT(keys, gaining) << "both thresholds decide";
  EXPECT_LT(gaining, kTargets);
}

TEST(KeyTokens, TakeTheirLengthsFromTheEvaluator) {
  const TemporaryFolder folder;
  LoadedModel loaded = evaluator(folder);  // trained on 16 tokens
  const auto sample = test::whole(test::some_targets(kTargets), 32);
  const KeyTokenRule usual = find_key_tokens(loaded, sample, {.wanted = {"e", {}, {}}}).rule;
  EXPECT_EQ(usual.long_length, 16);
  EXPECT_EQ(usual.short_length, 2) << "a window slides by half";
  EXPECT_EQ(find_key_tokens(loaded, sample, {.wanted = {"e", {}, 64}}).rule.short_length, 4);
}

TEST(KeyTokens, RefuseLengthsThatTheEvaluatorCannotTake) {
  const TemporaryFolder folder;
  LoadedModel learned = evaluator(folder, "learned");  // positions end at 16
  const auto sample = test::whole(test::some_targets(kTargets), 32);
  const auto fault_of = [&](std::int64_t shorter, std::int64_t longer) {
    return error_text([&] {
      find_key_tokens(learned, sample, {.wanted = {"e", shorter, longer}});
    });
  };
  EXPECT_ERROR_AT(fault_of(4, 32), "/evaluate/key_tokens/long_length", 32, 16);
  EXPECT_ERROR_AT(fault_of(16, 16), "/evaluate/key_tokens/long_length", 16);
}

}  // namespace
}  // namespace alibi
