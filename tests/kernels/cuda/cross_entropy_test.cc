// The device's cross-entropy over rows, its very source, run on the host against the formula in
// fp64.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/cuda/cross_entropy_example.h"

namespace alibi {
namespace {

void expect_formula(LogitExample& example, const std::string& what) {
  run_cross_entropy(example.work());
  EXPECT_LE(example.worst(), 1) << what;
}

// Vocabularies around a chunk, around what all threads read at once, and every one that begins or
// ends within a chunk. Seen failing with one chunk more, without the logits before or behind whole
// chunks, and with the second pass's last chunk left out.
TEST(DeviceCrossEntropyRows, AreTheFormulaAtEveryTail) {
  for (const int vocabulary : {1, 2, 7, 8, 9, 15, 16, 17, 100, 1000}) {
    for (int shift = 0; shift < 8; ++shift) {
      LogitExample example({.vocabulary = vocabulary, .shift = shift});
      expect_formula(example, cat("vocabulary ", vocabulary, ", shift ", shift));
    }
  }
  for (const int vocabulary :
       {8191, 8192, 8193, 8200, 16'376, 16'384, 16'400, 24'577, 32'768, 50'257, 50'304}) {
    LogitExample example({.vocabulary = vocabulary, .shift = vocabulary % 3});
    expect_formula(example, cat("vocabulary ", vocabulary));
  }
}

// Seen failing with rows a vocabulary apart.
TEST(DeviceCrossEntropyRows, LeaveWhatStandsBetweenThem) {
  for (const int gap : {1, 7, 8, 51}) {
    LogitExample example({.rows = 4, .vocabulary = 8'205, .shift = 2, .gap = gap});
    expect_formula(example, cat("gap ", gap));
  }
}

TEST(DeviceCrossEntropyRows, TakeOneRowAndAQuarterOfAMillionLogits) {
  LogitExample one({.rows = 1, .vocabulary = 50'257});
  expect_formula(one, "one row");
  LogitExample large({.rows = 3, .vocabulary = 262'144});
  expect_formula(large, "a large vocabulary");
}

// A target at each place of the chunks' pattern: its thread alone writes loss and gradient.
TEST(DeviceCrossEntropyRows, TakeATargetAnywhere) {
  LogitExample example({.rows = 40, .vocabulary = 8'212, .shift = 5});
  for (int r = 0; r < 20; ++r) example.targets[LogitExample::index(r)] = r;
  for (int r = 20; r < 40; ++r) example.targets[LogitExample::index(r)] = 8'212 - 40 + r;
  expect_formula(example, "targets from both ends");
}

// Seen failing with the factor of the z-loss left out, and with rows that are left out counted.
TEST(DeviceCrossEntropyRows, TakeTheZLossAndRowsLeftOut) {
  for (const float z : {1e-4F, 0.1F}) {
    LogitExample example({.rows = 6, .vocabulary = 333});
    example.scale.z = z;
    example.targets = {-1, 5, -100, 332, 0, -1};
    expect_formula(example, cat("z ", z));
  }
}

TEST(DeviceCrossEntropyRows, WithoutAGradientLeaveTheLogits) {
  LogitExample example({.vocabulary = 8'500, .shift = 3});
  example.scale = {0, 0.5F};
  expect_formula(example, "no gradient");
  EXPECT_EQ(example.memory, example.before);
}

// Seen failing with exponents from a reference that is rounded another way than the sum's.
TEST(DeviceCrossEntropyRows, StayRightFarFromZero) {
  LogitExample example({.rows = 7, .vocabulary = 8'300, .shift = 1});
  for (const int r : {0, 1, 2, 3}) example.fill(r, r < 2 ? -1e4F : 1e4F);
  example.set(0, 4'000, 1e4F);  // all but one 2e4 below
  example.set(1, 4'000, 1e4F);
  example.fill(4, 3);
  example.fill(5, -3e5F);
  example.set(6, 17, -INFINITY);
  example.set(6, 3, -INFINITY);  // before the first whole chunk
  example.targets = {4'000, 0, 8'299, 4'000, 8'299, 1, 16};
  expect_formula(example, "extreme logits");
  EXPECT_NEAR(example.losses[0], 0, 1e-6);
  EXPECT_NEAR(example.losses[4], std::log(8'300), 1e-5);
  EXPECT_EQ(example.at(6, 17), 0) << "a probability of 0";
  EXPECT_EQ(example.at(6, 3), 0);
}

// What the guard of a step must see.
TEST(DeviceCrossEntropyRows, KeepANaN) {
  for (const float bad : {NAN, INFINITY}) {
    LogitExample example({.rows = 2, .vocabulary = 9'000});
    example.set(1, 8'999, bad);
    run_cross_entropy(example.work());
    EXPECT_TRUE(std::isfinite(example.losses[0]));
    EXPECT_TRUE(std::isnan(example.losses[1]));
    EXPECT_TRUE(std::isnan(HostBlock::widened(example.at(1, 0))));
  }
}

}  // namespace
}  // namespace alibi
