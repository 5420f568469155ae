// What is said of the context a model uses.
#include "report/context.h"
#include "support/error_text.h"

#include <gtest/gtest.h>

namespace alibi {
namespace {

const BoundedMean kHarm{0.2, 0.1, 0.3}, kUnknown{0.01, -0.1, 0.1}, kNone{0, -0.0005, 0.0005},
    kHelp{-0.2, -0.3, -0.1};

FarBin bin(std::int64_t first, std::int64_t last, const BoundedMean& cut,
           const BoundedMean& swapped) {
  return {first, last, 9, swapped, {}, cut};
}

TEST(UsefulContext, EndsWithTheFarthestHarmOfLeavingOut) {
  FarContext far;
  far.window = 32;
  far.bins = {bin(1, 1, kUnknown, kHarm), bin(2, 2, kHarm, kHarm), bin(3, 4, kNone, kHarm)};
  EXPECT_EQ(useful_context(far).tokens, 2) << "one target a window shows little";
  EXPECT_TRUE(useful_context(far).bounded);
  EXPECT_EQ(noticed_context(far).tokens, 4);
  EXPECT_FALSE(noticed_context(far).bounded);
}

// Seen failing: few targets made a small number that read as a measured one.
TEST(UsefulContext, IsALowerLimitWhereWhatLiesFartherBackMayHelp) {
  FarContext far;
  far.window = 32;
  far.bins = {bin(1, 1, kHarm, kNone), bin(2, 2, kUnknown, kUnknown), bin(3, 4, kNone, kHelp)};
  EXPECT_EQ(useful_context(far).tokens, 1);
  EXPECT_FALSE(useful_context(far).bounded);
  EXPECT_EQ(noticed_context(far).tokens, 0);
  far.bins[1] = bin(2, 2, {kNotMeasured, kNotMeasured, kNotMeasured}, kNone);
  EXPECT_FALSE(useful_context(far).bounded);
  far.bins[1] = bin(2, 2, kNone, kNone);
  EXPECT_TRUE(useful_context(far).bounded);
}

// Seen failing with any rise that is shown.
TEST(UsefulContext, LeavesOutWhatIsShownButTiny) {
  FarContext far;
  far.window = 32;
  const BoundedMean tiny{0.0005, 0.0001, 0.0009}, little{0.0015, 0.0001, 0.0029};
  far.bins = {bin(1, 1, kHarm, little), bin(2, 2, kNone, kNone), bin(3, 4, kNone, little),
              bin(5, 8, tiny, tiny)};
  EXPECT_EQ(useful_context(far).tokens, 1);
  EXPECT_TRUE(useful_context(far).bounded);
  EXPECT_EQ(noticed_context(far).tokens, 4) << "whatever nearer bins show";
}

// Other text may harm where the true text does too: noticed is not useful.
TEST(UsefulContext, WhatIsBetterLeftOutIsNotUseful) {
  FarContext far;
  far.window = 32;
  far.targets = 640;
  far.bins = {bin(1, 1, kHelp, kHarm), bin(2, 2, kHelp, kHarm)};
  EXPECT_EQ(useful_context(far).tokens, 0);
  const std::string words = useful_context_text(far);
  EXPECT_NAMES(words, "useful context: not shown", "2 tokens");
}

TEST(UsefulContext, SaysThatThereWereTooFewWindows) {
  FarContext far;
  EXPECT_EQ(useful_context_text(far), "");
  far.window = 4096;
  EXPECT_NAMES(useful_context_text(far), "too few", "4,096");
}

}  // namespace
}  // namespace alibi
