// progress.json: exact round trip, strict reading.
#include "checkpoint/progress.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace alibi {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Progress, ReadsTheSameBits) {
  for (const double loss : {0.1, 1.0 / 3.0, std::nextafter(2.0, 3.0), 5e-324, 1e308, 0.0, -1.5, 7.0,
                            std::numeric_limits<double>::infinity()}) {
    const Progress progress{1'000'000'007, 1ll << 62, loss, 3, 2, 5, true};
    const ProgressFile read = parse_progress(progress_text({progress, "hash \"é\""}), "file");
    EXPECT_EQ(read.progress, progress);
    EXPECT_EQ(read.identity, "hash \"é\"");
  }
}

TEST(Progress, IsStrict) {
  const std::string good = progress_text({Progress{7, 70, 1.5, 0, 0, 0, false}, "hash"});
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\"step\": 7", "\"step\": 7.0"},
           {"\"step\": 7", "\"step\": -7"},
           {"\"step\": 7", "\"step\": \"7\""},
           {"\"step\": 7", "\"step\": true"},
           {"\"step\": 7", "\"step\": 9223372036854775808"},
           {"\"step\": 7", "\"stepp\": 7"},
           {"\"step\": 7", "\"step\": 7, \"step\": 7"},
           {"\"step\": 7", "\"step\": 7, \"more\": 7"},
           {"1.5", "\"inf\""},
           {"1.5", "NaN"},
           {"1.5", "1e999"},
           {"1.5", "[[[[1]]]]"},
           {"\"hash\"", "null"},
           {"false", "0"},
           {"\"format_version\": 1", "\"format_version\": 2"}}) {
    EXPECT_THROW(parse_progress(replaced(good, from, to), "file"), Error) << to;
  }
  EXPECT_THROW(parse_progress(good + "x", "file"), Error);
  EXPECT_THROW(parse_progress("", "file"), Error);
}

}  // namespace
}  // namespace alibi
