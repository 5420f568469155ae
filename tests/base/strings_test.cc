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

TEST(Strings, BytesAreReadWithTheirUnit) {
  EXPECT_EQ(parse_bytes("800000"), 800000);
  EXPECT_EQ(parse_bytes("12GiB"), 12ll << 30);
  EXPECT_EQ(parse_bytes("1.5 GB"), 1'500'000'000);
  EXPECT_EQ(parse_bytes("500MB"), 500'000'000);
  EXPECT_EQ(parse_bytes("2K"), 2000);
  EXPECT_EQ(parse_bytes("3 Ti"), 3ll << 40);
  for (const char* wrong :
       {"", "GiB", "-1", "0", "nan", "inf", "1x", "1 GiBB", "1 iB", "1e30", "12 G i"})
    EXPECT_EQ(parse_bytes(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace alibi
