#include "base/strings.h"

#include <gtest/gtest.h>

namespace alibi {
namespace {

TEST(Strings, HumanUnits) {
  EXPECT_EQ(human_count(29.4e6), "29.4M");
  EXPECT_EQ(human_count(7), "7");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_seconds(3725), "62 min 5 s");
  EXPECT_EQ(human_seconds(7300), "2 h 1 min");
}

TEST(Strings, NearestSuggestsOnlyWhatIsNear) {
  const std::vector<std::string> keys = {"sequence_length", "sequences", "seed"};
  EXPECT_EQ(nearest("sequnce_lenght", keys), "sequence_length");
  EXPECT_EQ(nearest("optimiser_xyz", keys), "");
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8("plain \xc3\xa9 \xf0\x9f\x98\x80"), std::string::npos);
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(first_invalid_utf8("a\xc0\xaf"), 1u);         // overlong
  EXPECT_EQ(first_invalid_utf8("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(first_invalid_utf8("a\xf0\x9f\x98"), 1u);     // cut short
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
}

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a..b", '.'), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", '.'), (std::vector<std::string>{""}));
}

}  // namespace
}  // namespace alibi
