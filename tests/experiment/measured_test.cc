#include "experiment/measured.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

TEST(Usage, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "usage.json";
  write_file_atomic(file, usage_json({12.5, 1 << 20}));
  EXPECT_DOUBLE_EQ(read_usage(file).seconds, 12.5);
  EXPECT_EQ(read_usage(file).peak_memory_bytes, 1 << 20);
}

TEST(TrainingTotals, TakeTheLastStepAndTheMedianTime) {
  RunLog log;
  for (const double seconds : {9.0, 0.5, 0.5}) {
    const auto step = std::ssize(log.steps) + 1;
    log.steps.push_back({.step = step, .tokens = 100 * step, .loss = 3, .seconds = seconds});
  }
  log.validations = {{.peak_memory_bytes = 7000}, {.peak_memory_bytes = {}}};
  const TrainingTotals totals = training_totals(log);
  EXPECT_EQ(totals.tokens, 300);
  EXPECT_EQ(totals.peak_memory_bytes, 7000);
  EXPECT_DOUBLE_EQ(totals.seconds, 10);
  EXPECT_DOUBLE_EQ(totals.tokens_per_second, 200);
  EXPECT_EQ(training_totals({}).tokens, 0);
  EXPECT_TRUE(std::isnan(training_totals({}).tokens_per_second));
}

}  // namespace
}  // namespace alibi
