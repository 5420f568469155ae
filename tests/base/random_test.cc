#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace alibi {
namespace {

TEST(Philox, MatchesThePublishedVector) {  // Random123's known answers for philox4x32-10
  const auto zero = philox(RandomKey{0}, 0, 0);
  EXPECT_EQ(zero, (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const auto ones = philox(RandomKey{~0ull}, ~0ull, ~0ull);
  EXPECT_EQ(ones, (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Normal, HasTheAskedMoments) {
  std::vector<float> values(100001);
  fill_normal(RandomKey{7}, 2.0, values);
  double sum = 0, squares = 0;
  for (const float v : values) {
    sum += v;
    squares += double{v} * v;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.03);
  EXPECT_NEAR(std::sqrt(squares / 1e5), 2, 0.03);
}

TEST(Dropout, DropsTheAskedShareAndKeepsTheMean) {
  std::vector<float> mask(100000);
  fill_dropout(RandomKey{3}, 5, 0.3, mask);
  double sum = 0;
  int zeros = 0;
  for (const float v : mask) {
    sum += v;
    zeros += v == 0;
  }
  EXPECT_NEAR(zeros / 1e5, 0.3, 0.01);
  EXPECT_NEAR(sum / 1e5, 1, 0.02);
}

TEST(Dropout, RowsAreIndependentOfEachOther) {
  std::vector<float> a(64), b(64), again(64);
  fill_dropout(RandomKey{3}, 5, 0.5, a);
  fill_dropout(RandomKey{3}, 6, 0.5, b);
  fill_dropout(RandomKey{3}, 5, 0.5, again);
  EXPECT_EQ(a, again);
  EXPECT_NE(a, b);
}

TEST(Permutation, VisitsEveryIndexOnce) {
  for (const std::uint64_t size : {1U, 2U, 3U, 10U, 64U, 1000U, 4097U}) {
    const Permutation permutation(RandomKey{11}, size);
    std::vector<int> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) ++seen.at(permutation(i));
    for (const int count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(Permutation, DependsOnTheKey) {
  const Permutation a(RandomKey{1}, 1000), b(RandomKey{2}, 1000);
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) equal += a(i) == b(i);
  EXPECT_LT(equal, 20);
}

}  // namespace
}  // namespace alibi
