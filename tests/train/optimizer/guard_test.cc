// What is a spike, and what is remembered of the steps. Seen failing with norms or losses that are
// not finite let through, NaN let into the window, and spikes let in at full height.
#include "train/optimizer/guard.h"
#include "support/error_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace alibi {
namespace {

class GuardWindow : public testing::Test {
 protected:
  GuardWindow() {
    config_.spikes = Spikes::kSkip;
    config_.spike_window = 10;
    config_.spike_deviations = 6;
  }
  Judgement judge(double loss, double norm = 1) {
    return judge_step(config_, loss, norm, {losses_, norms_});
  }
  // Losses that swing about 3 by 0.1.
  void fill(int steps) {
    for (int i = 0; i < steps; ++i)
      EXPECT_EQ(judge(i % 2 == 0 ? 2.9 : 3.1).verdict, GuardVerdict::kTake) << i;
  }

  GuardConfig config_;
  std::vector<double> losses_, norms_;
};

TEST_F(GuardWindow, NeedsHalfOfItself) {
  fill(4);
  EXPECT_EQ(judge(1000).verdict, GuardVerdict::kTake);
  losses_.clear();
  norms_.clear();
  fill(5);
  EXPECT_EQ(judge(1000).verdict, GuardVerdict::kSkip);
}

TEST_F(GuardWindow, JudgesByDeviationsOfLossAndNorm) {
  fill(10);
  EXPECT_EQ(judge(3.55).verdict, GuardVerdict::kTake);  // 3 + 6 * 0.1 is the limit
  losses_.assign({2.9, 3.1, 2.9, 3.1, 2.9, 3.1, 2.9, 3.1, 2.9, 3.1});
  const Judgement high = judge(3.65);
  EXPECT_EQ(high.verdict, GuardVerdict::kSkip);
  // Seen failing with one step too few counted where the window is full.
  EXPECT_NAMES(high.reason, "loss 3.65", "spike", "3.6", "last 10 steps");
  losses_.resize(7);
  norms_.resize(7);
  EXPECT_NAMES(judge(1000).reason, "last 7 steps");
  losses_.assign({2.9, 3.1, 2.9, 3.1, 2.9, 3.1, 2.9, 3.1, 2.9, 3.1});
  norms_.assign(10, 1);
  EXPECT_NAMES(judge(3, 1.5).reason, "gradient norm 1.5", "spike");
  EXPECT_EQ(judge(-5).verdict, GuardVerdict::kTake) << "a low loss is no spike";
}

TEST_F(GuardWindow, HoldsTheNewestSteps) {
  fill(25);
  EXPECT_EQ(losses_.size(), 10U);
  EXPECT_EQ(norms_.size(), 10U);
  judge(3.2);
  EXPECT_EQ(losses_.back(), 3.2);
}

TEST_F(GuardWindow, NumbersThatAreNotFiniteNeverEnterIt) {
  fill(10);
  const std::vector<double> before = losses_;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [loss, norm] : {std::pair(std::nan(""), 1.0),
                                   {infinity, 1.0},
                                   {3.0, infinity},
                                   {-infinity, std::nan("")}}) {
    EXPECT_EQ(judge(loss, norm).verdict, GuardVerdict::kStop);
    EXPECT_EQ(losses_, before);
  }
  EXPECT_EQ(judge(1000).verdict, GuardVerdict::kSkip) << "it still works";
}

TEST_F(GuardWindow, ASpikeHardlyMovesItAndALastingRiseIsTaken) {
  fill(10);
  EXPECT_EQ(judge(1000).verdict, GuardVerdict::kSkip);
  EXPECT_LT(losses_.back(), 3.7);
  EXPECT_EQ(judge(3.0).verdict, GuardVerdict::kTake);
  int skipped = 0;
  while (judge(5).verdict == GuardVerdict::kSkip) ASSERT_LT(++skipped, 20);
  EXPECT_GT(skipped, 0);
}

TEST_F(GuardWindow, OnAPlateauRoundingIsNoSpike) {
  for (int i = 0; i < 10; ++i) judge(3);
  EXPECT_EQ(judge(3.0001).verdict, GuardVerdict::kTake);
  EXPECT_EQ(judge(3.1).verdict, GuardVerdict::kSkip);
}

TEST_F(GuardWindow, ActsAsConfigured) {
  for (const auto& [spikes, verdict] : {std::pair(Spikes::kStop, GuardVerdict::kStop),
                                        {Spikes::kSkip, GuardVerdict::kSkip},
                                        {Spikes::kRollBack, GuardVerdict::kRollBack},
                                        {Spikes::kIgnore, GuardVerdict::kTake}}) {
    losses_.assign(10, 3.0);
    norms_.assign(10, 1.0);
    config_.spikes = spikes;
    EXPECT_EQ(judge(1000).verdict, verdict);
  }
  for (const auto& [action, verdict] : {std::pair(NonFinite::kStop, GuardVerdict::kStop),
                                        {NonFinite::kSkip, GuardVerdict::kSkip},
                                        {NonFinite::kRollBack, GuardVerdict::kRollBack}}) {
    config_.non_finite = action;
    EXPECT_EQ(judge(std::nan("")).verdict, verdict);
  }
}

}  // namespace
}  // namespace alibi
