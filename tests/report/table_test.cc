#include "report/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace alibi {
namespace {

TEST(Table, AlignsColumnsAndTrimsLines) {
  const Table table{{{"name"}, {"tokens", Align::kRight}, {"note"}},
                    {{"a", "1,000", ""}, {"longer", "7", "x"}, {}, {"sum", "1,007", ""}}};
  EXPECT_EQ(format_table(table),
            "name    tokens  note\n"
            "------  ------  ----\n"
            "a        1,000\n"
            "longer       7  x\n"
            "------  ------  ----\n"
            "sum      1,007\n");
}

TEST(Table, ShortRowRunsOverTheRestWithoutWideningIt) {
  const Table table{{{"a"}, {"b", Align::kRight}, {"c"}},
                    {{"1", "not applicable: too long"}, {"1", "2", "3"}}};
  EXPECT_EQ(format_table(table), "a  b  c\n-  -  -\n1  not applicable: too long\n1  2  3\n");
}

TEST(Table, CountsCodePointsAndHidesControlCharacters) {
  const Table table{{{"x"}, {"y"}},
                    {{"\xc3\xa9\xc3\xa9", "1"}, {"a\x1b[2J", "2"}, {"b\xc2\x9b", "3"}}};
  const std::string text = format_table(table);
  EXPECT_EQ(text, "x      y\n-----  -\n\xc3\xa9\xc3\xa9     1\na?[2J  2\nb?     3\n");
}

TEST(Table, WithoutRows) { EXPECT_EQ(format_table({{{"a"}, {"b"}}, {}}), "a  b\n-  -\n"); }

TEST(Table, Pairs) {
  EXPECT_EQ(format_pairs({{"device", "cpu"}, {"precision", "bf16"}, {"x", ""}}),
            "device:     cpu\nprecision:  bf16\nx:\n");
}

TEST(Numbers, Spelled) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(-1048576), "-1,048,576");
  EXPECT_EQ(with_commas(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(four_digits(22.914), "22.91");
  EXPECT_EQ(four_digits(9.9999), "10.00");
  EXPECT_EQ(four_digits(312.46), "312.5");
  EXPECT_EQ(four_digits(4096), "4096");
  EXPECT_EQ(four_digits(1.5e9), "1.5e+09");
  EXPECT_EQ(four_digits(std::nan("")), "-");
  EXPECT_EQ(four_digits(INFINITY), "inf");
  EXPECT_EQ(percent(-0.0231), "-2.3 %");
  EXPECT_EQ(percent(0.0004), "+0.04 %");
  EXPECT_EQ(percent(0), "0.00 %");
  EXPECT_EQ(percent(2.5), "+250.0 %");
  EXPECT_EQ(percent(std::nan("")), "-");
  EXPECT_EQ(times(2.5), "2.5x");
}

}  // namespace
}  // namespace alibi
