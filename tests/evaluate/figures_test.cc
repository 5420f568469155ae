// Splits of gains and the usable length, on losses that are made up.
#include "evaluate/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/random.h"
#include "evaluate/statistics.h"

namespace alibi {
namespace {

constexpr std::int64_t kTargets = 64'000, kBlock = 64;

struct Length {
  std::int64_t length = 0;
  // What its targets lose less than those of the shortest length: in the later half of each window
  // of kBlock, and in the other.
  double late = 0, early = 0;
};

// Losses between 3 and 5, the same for every length, less the gains, and noise of its own.
MeasuredLength measured(const Length& of) {
  MeasuredLength made;
  made.point.length = of.length;
  made.block_ends = equal_blocks(kTargets, kBlock);
  const RandomKey noise = RandomKey{3}.with("noise").with(static_cast<std::uint64_t>(of.length));
  for (std::int64_t i = 0; i < kTargets; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    const bool late = i % kBlock >= kBlock / 2;
    const double loss = 3 + 2 * uniform(RandomKey{3}.with("loss"), n) +
                        0.01 * (uniform(noise, n) - 0.5) - (late ? of.late : of.early);
    made.losses.push_back(static_cast<float>(loss));
    made.late.push_back(late ? 1 : 0);
  }
  made.means = bootstrap_means(made.losses, kBlock);
  made.point.loss = mean_of(made.losses);
  return made;
}

std::vector<MeasuredLength> family(const std::vector<Length>& lengths) {
  std::vector<MeasuredLength> all;
  for (const Length& one : lengths) all.push_back(measured(one));
  fill_family(all, 128, Split::kLate);
  return all;
}

TEST(Split, TellsLongerContextFromFewerEarlyTokens) {
  const auto all = family({{128}, {256, 0.02, 0.06}, {512, 0, 0.06}});
  const CurvePoint &twice = all[1].point, &longest = all[2].point;
  EXPECT_NEAR(twice.context_gain, 0.02, 2e-4);
  EXPECT_NEAR(twice.early_gain, 0.02, 2e-4) << "0.04 in all";
  EXPECT_NEAR(longest.context_gain, 0, 2e-4);
  EXPECT_NEAR(longest.early_gain, 0.03, 2e-4);
  for (const CurvePoint& point : {twice, longest}) {
    EXPECT_LT(point.context_gain_low, point.context_gain);
    EXPECT_GT(point.context_gain_high, point.context_gain);
    EXPECT_LT(point.context_gain_high - point.context_gain_low, 1e-3) << "paired";
    EXPECT_LT(point.early_gain_low, point.early_gain);
    EXPECT_GT(point.early_gain_high, point.early_gain);
  }
}

TEST(Split, TakesSlidingWindowsWhereTheyWereAskedFor) {
  std::vector<MeasuredLength> all = {measured({128}), measured({256, 0.02, 0.06})};
  all[0].point.full_loss = 4.0;
  all[1].point.full_loss = 3.97;
  for (MeasuredLength& one : all) one.full_means = one.means;
  fill_family(all, 128, Split::kSliding);
  EXPECT_NEAR(all[1].point.context_gain, 0.03, 1e-9);
  EXPECT_NEAR(all[1].point.early_gain, 0.01, 2e-4);
}

// Some targets are key tokens, of which those with a long context gain half a nat.
TEST(KeyFigures, AreThoseOfKeyTokensAlone) {
  std::vector<MeasuredLength> all = {measured({128}), measured({256}), measured({512})};
  std::vector<std::uint8_t> is_key(static_cast<std::size_t>(kTargets));
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < is_key.size(); i += 25) {
    is_key[i] = 1;
    if (all[0].late[i] != 0) all[2].losses[i] -= 0.5F;
    sum += all[2].losses[i];
    count += 1;
  }
  fill_family(all, 128, Split::kLate);
  fill_key_figures(all, 128, is_key);
  const KeyFigures &same = all[1].point.key, &longest = all[2].point.key;
  EXPECT_NEAR(longest.loss.mean, sum / count, 1e-9);
  EXPECT_LT(longest.loss.low, longest.loss.mean);
  EXPECT_GT(longest.loss.high, longest.loss.mean);
  EXPECT_NEAR(longest.context_gain.mean, 0.5, 2e-3);
  EXPECT_GT(longest.context_gain.low, 0.49);
  EXPECT_NEAR(longest.change.mean, std::expm1(sum / count - all[0].point.key.loss.mean), 1e-9);
  EXPECT_LT(longest.change.high, -0.15);
  EXPECT_NEAR(same.context_gain.mean, 0, 2e-3);
  EXPECT_NEAR(same.change.mean, 0, 2e-3);
}

// Seen failing with an interval that resamples without a single key token decided.
TEST(KeyFigures, HaveNoIntervalWhereResamplesMissThem) {
  std::vector<MeasuredLength> all = {measured({128}), measured({256})};
  std::vector<std::uint8_t> is_key(static_cast<std::size_t>(kTargets));
  is_key[kBlock - 1] = 1;
  fill_family(all, 128, Split::kLate);
  fill_key_figures(all, 128, is_key);
  EXPECT_EQ(all[1].point.key.loss.mean, all[1].losses[kBlock - 1]);
  EXPECT_TRUE(std::isnan(all[1].point.key.loss.low));
  EXPECT_TRUE(std::isnan(all[1].point.key.context_gain.high));
}

// Seen failing with the percentiles of all draws, those without a late target among them.
TEST(Split, HasNoIntervalWhereResamplesMissLateTargets) {
  std::vector<MeasuredLength> all = {measured({128}), measured({256, 0.02, 0.06})};
  for (MeasuredLength& one : all) std::fill(one.late.begin() + kBlock, one.late.end(), 0);
  fill_family(all, 128, Split::kLate);
  const CurvePoint& twice = all[1].point;
  EXPECT_NEAR(twice.context_gain, 0.02, 2e-3);
  for (const double end : {twice.context_gain_low, twice.context_gain_high, twice.early_gain_low,
                           twice.early_gain_high})
    EXPECT_TRUE(std::isnan(end));
  EXPECT_EQ(usable_length(all, 128).tokens, 128) << "not shown to help";
}

TEST(KeyFigures, AreNotMeasuredWithoutKeyTokens) {
  std::vector<MeasuredLength> all = {measured({128}), measured({256})};
  fill_family(all, 128, Split::kLate);
  fill_key_figures(all, 128, {});
  fill_key_figures(all, 128, std::vector<std::uint8_t>(static_cast<std::size_t>(kTargets)));
  EXPECT_TRUE(std::isnan(all[1].point.key.loss.mean));
}

UsableLength usable(const std::vector<Length>& lengths) {
  return usable_length(family(lengths), 128);
}

TEST(UsableLength, IsTheLongestThatHelpsAndDoesNoHarm) {
  // Each with what is usable. Late gains count from the shortest length on.
  const std::pair<std::vector<Length>, std::int64_t> cases[] = {
      {{{128}, {256}, {512}}, 128},
      {{{128}, {256, 0, 0.1}, {512, 0, 0.1}}, 128},  // early tokens alone
      {{{128}, {256, 0.02}, {512, 0.02}}, 256},
      {{{128}, {256, 0.02}, {512, 0.04}}, 512},
      {{{128}, {256, 0}, {512, 0.04}}, 512},
      {{{128}, {256, 0.0005}, {512, 0.0008}}, 128},          // less than is worth it
      {{{128}, {256, 0.04}, {512, 0.05, -0.1}}, 256},        // the early half is harmed
      {{{128}, {256, -0.5, -0.5}, {512, -1, -1}}, 128},      // breaks
      {{{64}, {128, 0.1, 0.1}, {256, 0.1, 0.1}}, 128},       // shorter ones do not matter
      {{{128}, {256, -0.5, -0.5}, {512, -0.4, -0.4}}, 128},  // gains on what was lost
      {{{128}, {160, 0.0008}, {192, 0.0016}, {224, 0.0024}, {256, 0.0032}}, 256},  // close together
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const UsableLength found = usable(cases[i].first);
    EXPECT_EQ(found.tokens, cases[i].second) << "case " << i;
    EXPECT_EQ(found.low, cases[i].second) << "case " << i;
    EXPECT_EQ(found.high, cases[i].second) << "case " << i;
  }
}

TEST(UsableLength, HasAnIntervalWhereTheTextDecides) {
  std::vector<MeasuredLength> all = {measured({128}), measured({256})};
  // A gain of 0.0015 in the mean, on some blocks only: half of the draws or so find more than
  // 0.001.
  for (std::int64_t i = 0; i < kTargets; ++i)
    if (i / kBlock % 100 == 0) all[1].losses[static_cast<std::size_t>(i)] -= 0.11F;
  all[1].means = bootstrap_means(all[1].losses, kBlock);
  fill_family(all, 128, Split::kLate);
  const UsableLength found = usable_length(all, 128);
  EXPECT_EQ(found.low, 128);
  EXPECT_EQ(found.high, 256);
}

// Seen failing with the interval of the draws as it is: each draw finds one of ten lengths that
// differ by noise alone, so 128 was below nearly all of them.
TEST(UsableLength, LiesInItsInterval) {
  std::vector<MeasuredLength> all = {measured({128})};
  for (std::int64_t k = 1; k <= 10; ++k) {
    all.push_back(measured({128 + 16 * k}));
    std::mt19937 random(static_cast<unsigned>(k));
    for (std::int64_t block = 0; block < kTargets / kBlock; ++block) {
      const float noise = random() % 2 == 0 ? 0.2F : -0.2F;
      for (std::int64_t i = block * kBlock; i < (block + 1) * kBlock; ++i)
        all.back().losses[static_cast<std::size_t>(i)] += noise;
    }
    all.back().means = bootstrap_means(all.back().losses, kBlock);
    all.back().point.loss = mean_of(all.back().losses);
  }
  fill_family(all, 128, Split::kLate);
  const UsableLength found = usable_length(all, 128);
  EXPECT_EQ(found.tokens, 128);
  EXPECT_EQ(found.low, 128);
  EXPECT_GT(found.high, 128);
}

TEST(UsableLength, IsNotMeasuredWithoutTheTrainedLengthOrPairs) {
  EXPECT_EQ(usable({{256}, {512}}).tokens, 0);
  auto all = family({{128}, {256}});
  for (MeasuredLength& one : all) one.late.clear();
  EXPECT_EQ(usable_length(all, 128).tokens, 0);
  all = family({{128}, {256}});
  for (MeasuredLength& one : all) one.means.clear();
  EXPECT_EQ(usable_length(all, 128).tokens, 0) << "too few blocks for an interval";
}

TEST(Bootstrap, CountsWhatIsKeptOnly) {
  std::vector<float> losses(kTargets);
  std::vector<std::uint8_t> kept(kTargets);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] = i % 3 == 0 ? 1.0F : 100.0F;
    kept[i] = i % 3 == 0 ? 1 : 0;
  }
  for (const double mean : bootstrap_means(losses, equal_blocks(kTargets, kBlock), kept))
    EXPECT_EQ(mean, 1.0);
}

}  // namespace
}  // namespace alibi
