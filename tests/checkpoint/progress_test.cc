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

Progress example() {
  Progress progress;
  progress.step = 7;
  progress.tokens = 70;
  progress.best_validation_loss = 1.5;
  progress.recent_losses = {2.5};
  progress.recent_gradient_norms = {0.75};
  return progress;
}

TEST(Progress, ReadsTheSameBits) {
  for (const double loss : {0.1, 1.0 / 3.0, std::nextafter(2.0, 3.0), 5e-324, 1e308, 0.0, -1.5, 7.0,
                            std::numeric_limits<double>::infinity()}) {
    Progress progress{.step = 1'000'000'007,
                      .tokens = 1ll << 49,
                      .best_validation_loss = loss,
                      .best_step = 3,
                      .evaluations_without_improvement = 2,
                      .skipped_steps = 5,
                      .skipped_in_a_row = 1,
                      .rollbacks = 6,
                      .micro_batch_tokens = 512,
                      .validated_step = 4,
                      .threads = 2,
                      .arithmetic = "cpu, AVX2",
                      .arithmetic_revision = 3,
                      .start_weights = "abc",
                      .finished = true,
                      .train_seconds = 12.0625,
                      .recent_losses = {0.1, 1.0 / 3},
                      .recent_gradient_norms = {1e-300, 7}};
    const ProgressFile read =
        parse_progress(progress_text({progress, "hash \"é\"", "data"}), "file");
    EXPECT_EQ(read.progress, progress);
    EXPECT_EQ(read.identity, "hash \"é\"");
    EXPECT_EQ(read.data_hash, "data");
  }
}

TEST(Progress, IsStrict) {
  const std::string good = progress_text({example(), "hash", "data"});
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
           {"[2.5]", "2.5"},
           {"[2.5]", "[\"2.5\"]"},
           {"[2.5]", "[[2.5]]"},
           {"[2.5]", "[]"},
           {"[0.75]", "[0.75, 0.75]"},
           {"[0.75]", "[NaN]"},
           {"\"hash\"", "null"},
           {"false", "0"},
           {"\"format_version\": 6", "\"format_version\": 7"},
           {"\"format_version\": 6", "\"format_version\": 0"}}) {
    EXPECT_THROW(parse_progress(replaced(good, from, to), "file"), Error) << to;
  }
  EXPECT_THROW(parse_progress(good + "x", "file"), Error);
  EXPECT_THROW(parse_progress("", "file"), Error);
}

// Right checksums do not make counts right. Seen failing without check_counts.
TEST(Progress, RefusesCountsThatNoRunHas) {
  const std::string text = progress_text({example(), "hash", "data"});
  const std::pair<const char*, const char*> wrong[] = {
      {"\"threads\": 0", "\"threads\": 100000"},
      {"\"skipped_steps\": 0", "\"skipped_steps\": 8"},
      {"\"tokens\": 70", "\"tokens\": 9223372036854775807"},
      {"\"best_step\": 0", "\"best_step\": 8"},
      {"\"finished\": false", "\"finished\": false, \"train_seconds\": -1"},
      {"\"finished\": false", "\"finished\": false, \"train_seconds\": null"},
      {"\"rollbacks\": 0", "\"rollbacks\": 9223372036854775807"},
      {"\"evaluations_without_improvement\": 0", "\"evaluations_without_improvement\": 8"},
      {"\"validated_step\": 0", "\"validated_step\": 8"}};
  for (const auto& [from, to] : wrong)
    EXPECT_THROW(parse_progress(replaced(text, from, to), "progress.json"), Error) << to;
  EXPECT_NO_THROW(parse_progress(text, "progress.json"));
}

TEST(Progress, ReadsOlderVersions) {
  const std::string old =
      "{\"format_version\": 1, \"identity\": \"hash\", \"step\": 7, \"tokens\": 70, \"best_step\": "
      "0, "
      "\"evaluations_without_improvement\": 0, \"skipped_steps\": 0, \"best_validation_loss\": "
      "1.5, "
      "\"finished\": false}";
  Progress expected = example();
  expected.recent_losses = expected.recent_gradient_norms = {};
  expected.validated_step = 7;
  EXPECT_EQ(parse_progress(old, "file").progress, expected);
  const std::string second =
      replaced(replaced(old, "\"format_version\": 1", "\"format_version\": 2"), "\"finished\"",
               "\"rollbacks\": 1, \"micro_batch_tokens\": 64, \"recent_losses\": [], "
               "\"recent_gradient_norms\": [], \"finished\"");
  expected.rollbacks = 1;
  expected.micro_batch_tokens = 64;
  EXPECT_EQ(parse_progress(second, "file").progress, expected);
  const std::string third =
      replaced(replaced(second, "\"format_version\": 2", "\"format_version\": 3"), "\"finished\"",
               "\"data\": \"data\", \"validated_step\": 6, \"threads\": 2, \"finished\"");
  expected.validated_step = 6;
  expected.threads = 2;
  EXPECT_EQ(parse_progress(third, "file").progress, expected);
}

}  // namespace
}  // namespace alibi
