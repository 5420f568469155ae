#include "base/printable.h"

#include <gtest/gtest.h>

namespace alibi {
namespace {

// Seen failing with the control characters of two bytes, which some terminals obey.
TEST(Printable, ShowsNoControlCharacter) {
  EXPECT_EQ(printable("a\x1b[31m\x7f", 80), "a?[31m?");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m \xc2\xa9",
                      80),
            "a?31m \xc2\xa9");
  EXPECT_EQ(printable("\xc3\xa9\xc3\xa9", 3), "\xc3\xa9...");
}

TEST(Printable, ANumberReadsBack) {
  EXPECT_EQ(shown(0.2500001), "0.2500001");
  EXPECT_EQ(shown(2.0), "2");
}

}  // namespace
}  // namespace alibi
