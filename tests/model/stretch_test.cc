#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "config/position/slopes.h"
#include "model/position/alibi.h"
#include "model/position/rotary.h"

namespace alibi {
namespace {

PositionStretch stretch(Stretch kind, double factor) { return {kind, factor, 128}; }

TEST(StretchedSlopes, LinearDividesThemAllAndNtkTheFlattestMost) {
  const std::vector<double> slopes = slopes_by_rule(SlopeRule::kPress, 8, 8);
  const auto linear = stretched_slopes(slopes, stretch(Stretch::kLinear, 4));
  for (std::size_t h = 0; h < 8; ++h) EXPECT_DOUBLE_EQ(linear[h], slopes[h] / 4);
  const auto ntk = stretched_slopes(slopes, stretch(Stretch::kNtk, 4));
  // The published form: m_h = b / (2^(8/H) b)^h, b = a^(1 / (H - 1)), h from 1.
  const double b = std::pow(4.0, 1.0 / 7);
  for (int h = 1; h <= 8; ++h)
    EXPECT_NEAR(ntk[static_cast<std::size_t>(h - 1)], b / std::pow(2 * b, h), 1e-12) << h;
  EXPECT_DOUBLE_EQ(ntk.front(), slopes.front());
  EXPECT_NEAR(ntk.back(), slopes.back() / 4, 1e-12);
}

TEST(StretchedSlopes, LeaveHeadsWithoutABiasAlone) {
  const std::vector<double> slopes = {0.5, 0.25, 0};
  EXPECT_EQ(stretched_slopes(slopes, stretch(Stretch::kLinear, 4)),
            (std::vector<double>{0.125, 0.0625, 0}));
  EXPECT_EQ(stretched_slopes(slopes, stretch(Stretch::kNtk, 4)),
            (std::vector<double>{0.5, 0.0625, 0}));
  EXPECT_EQ(stretched_slopes({0, 0}, stretch(Stretch::kNtk, 4)), (std::vector<double>{0, 0}));
}

TEST(StretchedSlopes, TakeAnyCountAndOrder) {
  const std::vector<double> twelve = slopes_by_rule(SlopeRule::kPress, 12, 8);
  const auto ntk = stretched_slopes(twelve, stretch(Stretch::kNtk, 8));
  const auto least = std::min_element(twelve.begin(), twelve.end()) - twelve.begin();
  const auto most = std::max_element(twelve.begin(), twelve.end()) - twelve.begin();
  EXPECT_NEAR(ntk[static_cast<std::size_t>(least)], twelve[static_cast<std::size_t>(least)] / 8,
              1e-12);
  EXPECT_DOUBLE_EQ(ntk[static_cast<std::size_t>(most)], twelve[static_cast<std::size_t>(most)]);
  EXPECT_EQ(stretched_slopes({0.5, 0.5}, stretch(Stretch::kNtk, 2)),
            (std::vector<double>{0.25, 0.25}));
}

TEST(Stretch, ByOneOrLessChangesNothing) {
  const std::vector<double> slopes{0.5, 0.25};
  for (const double factor : {1.0, 0.25}) {
    for (const Stretch kind : {Stretch::kLinear, Stretch::kNtk})
      EXPECT_EQ(stretched_slopes(slopes, stretch(kind, factor)), slopes);
    for (const Stretch kind : {Stretch::kNone, Stretch::kLinear, Stretch::kNtk, Stretch::kYarn})
      EXPECT_EQ(stretched_rotation(64, 10000, stretch(kind, factor)).frequencies,
                rotation(64, 10000).frequencies);
  }
}

TEST(StretchedRotation, LinearSlowsAllNtkTheSlowest) {
  const Rotation plain = rotation(64, 10000);
  const Rotation linear = stretched_rotation(64, 10000, stretch(Stretch::kLinear, 4));
  for (std::size_t c = 0; c < 32; ++c)
    EXPECT_DOUBLE_EQ(linear.frequencies[c], plain.frequencies[c] / 4);
  const Rotation ntk = stretched_rotation(64, 10000, stretch(Stretch::kNtk, 4));
  EXPECT_DOUBLE_EQ(ntk.frequencies.front(), 1);
  for (std::size_t c = 0; c < 32; ++c)  // the base is multiplied by 4^(64 / 62)
    EXPECT_NEAR(ntk.frequencies[c] / plain.frequencies[c],
                std::pow(4, -2 * static_cast<double>(c) / 62), 1e-9);
}

TEST(StretchedRotation, YarnKeepsFastPairsAndSlowsSlowOnes) {
  const double factor = 8;
  const Rotation plain = rotation(64, 10000);
  const Rotation yarn = stretched_rotation(64, 10000, {Stretch::kYarn, factor, 4096});
  for (std::size_t c = 0; c < 32; ++c) {
    const double turns = 4096 * plain.frequencies[c] / (2 * std::numbers::pi);
    const double ratio = yarn.frequencies[c] / plain.frequencies[c];
    if (turns > 32) {
      EXPECT_DOUBLE_EQ(ratio, 1) << c;
    } else if (turns < 1) {
      EXPECT_DOUBLE_EQ(ratio, 1 / factor) << c;
    } else {
      const double kept = (turns - 1) / 31;
      EXPECT_NEAR(ratio, kept + (1 - kept) / factor, 1e-9) << c;
    }
  }
  EXPECT_NEAR(yarn.magnitude, 1 + 0.1 * std::log(factor), 1e-12);
}

}  // namespace
}  // namespace alibi
