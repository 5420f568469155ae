#include "base/strings.h"

#include <gtest/gtest.h>

namespace alibi {
namespace {

TEST(Cat, StreamsPartsOfAnyType) {
  const std::string text = "text";
  EXPECT_EQ(cat("row ", 7, ' ', text, std::string_view("view"), " ", 1.5, std::uint64_t{1} << 40),
            "row 7 textview 1.51099511627776");
  EXPECT_EQ(cat(), "");
}

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
  // Seen failing: half of a short word was wrong, its case or its end counted.
  const std::vector<std::string> names = {"alibi", "none", "sinusoidal", "forgetting"};
  EXPECT_EQ(nearest("rope", names), "");
  EXPECT_EQ(nearest("ALiBi", names), "alibi");
  EXPECT_EQ(nearest("sinus", names), "sinusoidal");
  EXPECT_EQ(nearest("forget", names), "forgetting");
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8("plain \xc3\xa9 \xf0\x9f\x98\x80"), std::string::npos);
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(first_invalid_utf8("a\xc0\xaf"), 1u);         // overlong
  EXPECT_EQ(first_invalid_utf8("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(first_invalid_utf8("a\xf0\x9f\x98"), 1u);     // cut short
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
}

TEST(Utf8, ContinuingBytesAreInsideACharacter) {
  EXPECT_TRUE(inside_character('\x80') && inside_character('\xbf'));
  EXPECT_FALSE(inside_character('a') || inside_character('\xc3') || inside_character('\xf0'));
}

TEST(Strings, AShellTakesItForOneWord) {
  EXPECT_EQ(quoted_for_shell("a/b-1.bin"), "a/b-1.bin");
  EXPECT_EQ(quoted_for_shell("it's here"), "'it'\\''s here'");
  EXPECT_EQ(quoted_for_shell(""), "''");
}

TEST(Strings, NumbersHaveTheirZeros) {
  EXPECT_EQ(zero_padded(42, 5), "00042");
  EXPECT_EQ(zero_padded(1234567, 5), "1234567");
}

TEST(Strings, AnyTextIsAPatternOfItself) {
  EXPECT_EQ(literal_pattern("a.b*(c)"), "a\\.b\\*\\(c\\)");
  EXPECT_EQ(literal_pattern("<s>[1]\\"), "\\<s\\>\\[1\\]\\\\");
  EXPECT_EQ(literal_pattern("a\xc3\xa9"), "a\xc3\xa9");
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
