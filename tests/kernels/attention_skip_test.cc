// The skip test leaves out only what its proof allows.
#include "kernels/attention_skip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace alibi {
namespace {

SkipTest unit_rows(SkipRule rule, float slope) {
  SkipTest test = make_skip_test(rule, 1024, slope);
  for (int i = 0; i < kTile; ++i) {
    test.norms[i] = 1;
    test.low[i] = 0;
  }
  return test;
}

TEST(SkipTest, StopsExactlyWhereTheBoundFallsBelowTheThreshold) {
  const SkipTest test = unit_rows(SkipRule::kEpsilon, 1.0F);
  EXPECT_NEAR(test.threshold, (17 + std::log(1024.0)) / std::log(2.0), 1e-4);
  const auto edge = static_cast<std::int64_t>(std::floor(-test.threshold - 1));
  EXPECT_TRUE(test.nothing_from(1.0F, edge));
  EXPECT_FALSE(test.nothing_from(1.0F, edge + 1));
  EXPECT_FALSE(test.nothing_from(2.5F, edge)) << "larger keys reach farther";
}

TEST(SkipTest, OneRowThatMattersKeepsTheBlock) {
  SkipTest test = unit_rows(SkipRule::kEpsilon, 1.0F);
  ASSERT_TRUE(test.nothing_from(1.0F, -1000));
  test.low[17] = -990;
  EXPECT_FALSE(test.nothing_from(1.0F, -1000));
}

TEST(SkipTest, ExactSkipsOnlyWhatUnderflows) {
  const SkipTest test = unit_rows(SkipRule::kExact, 1.0F);
  EXPECT_FALSE(test.nothing_from(1.0F, -150));
  EXPECT_TRUE(test.nothing_from(1.0F, -153));
  EXPECT_EQ(std::exp2(-151.0F), 0.0F);
}

TEST(SkipTest, NothingIsSkippedWhenOffOrWithoutAFallingBiasOrWithNaN) {
  EXPECT_FALSE(unit_rows(SkipRule::kOff, 1.0F).nothing_from(1.0F, -100'000));
  EXPECT_FALSE(unit_rows(SkipRule::kEpsilon, 0.0F).nothing_from(1.0F, -100'000));
  EXPECT_FALSE(unit_rows(SkipRule::kEpsilon, -1.0F).nothing_from(1.0F, -100'000));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(unit_rows(SkipRule::kEpsilon, 1.0F).nothing_from(nan, -100'000));
  EXPECT_FALSE(unit_rows(SkipRule::kEpsilon, 1.0F)
                   .nothing_from(std::numeric_limits<float>::infinity(), -100'000));
}

}  // namespace
}  // namespace alibi
