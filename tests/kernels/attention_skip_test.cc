// The skip test leaves out only what its proof allows.
#include "kernels/attention_skip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace alibi {
namespace {

struct UnitRows {
  UnitRows(SkipRule rule, float slope) : test(make_skip_test(rule, 1024, slope, {norms, low})) {
    for (float& norm : norms) norm = 1;
  }
  bool nothing_from(float key_norm, std::int64_t last_key) const {
    return test.nothing_from(key_norm, last_key);
  }
  float norms[kTile], low[kTile] = {};
  SkipTest test;
};

TEST(SkipTest, StopsExactlyWhereTheBoundFallsBelowTheThreshold) {
  const UnitRows rows(SkipRule::kEpsilon, 1.0F);
  EXPECT_NEAR(rows.test.threshold, (17 + std::log(1024.0)) / std::log(2.0), 1e-4);
  const auto edge = static_cast<std::int64_t>(std::floor(-rows.test.threshold - 1));
  EXPECT_TRUE(rows.nothing_from(1.0F, edge));
  EXPECT_FALSE(rows.nothing_from(1.0F, edge + 1));
  EXPECT_FALSE(rows.nothing_from(2.5F, edge)) << "larger keys reach farther";
}

TEST(SkipTest, OneRowThatMattersKeepsTheBlock) {
  UnitRows rows(SkipRule::kEpsilon, 1.0F);
  ASSERT_TRUE(rows.nothing_from(1.0F, -1000));
  rows.low[17] = -990;
  EXPECT_FALSE(rows.nothing_from(1.0F, -1000));
}

TEST(SkipTest, ExactSkipsOnlyWhatUnderflows) {
  const UnitRows rows(SkipRule::kExact, 1.0F);
  EXPECT_FALSE(rows.nothing_from(1.0F, -150));
  EXPECT_TRUE(rows.nothing_from(1.0F, -153));
  EXPECT_EQ(std::exp2(-151.0F), 0.0F);
}

TEST(SkipTest, NothingIsSkippedWhenOffOrWithoutAFallingBiasOrWithNaN) {
  EXPECT_FALSE(UnitRows(SkipRule::kOff, 1.0F).nothing_from(1.0F, -100'000));
  EXPECT_FALSE(UnitRows(SkipRule::kEpsilon, 0.0F).nothing_from(1.0F, -100'000));
  EXPECT_FALSE(UnitRows(SkipRule::kEpsilon, -1.0F).nothing_from(1.0F, -100'000));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(UnitRows(SkipRule::kEpsilon, 1.0F).nothing_from(nan, -100'000));
  EXPECT_FALSE(UnitRows(SkipRule::kEpsilon, 1.0F)
                   .nothing_from(std::numeric_limits<float>::infinity(), -100'000));
}

}  // namespace
}  // namespace alibi
