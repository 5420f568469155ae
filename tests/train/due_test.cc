// When a run logs, saves and ends.
#include "train/due.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace alibi {
namespace {

// 128 tokens a step, ten steps and a bit.
Config config(const std::vector<std::string>& changes) {
  std::vector<std::string> all = {"batch.sequence_length=32", "batch.sequences=4",
                                  "run.train_tokens=1281", "run.save_every_tokens=300"};
  all.insert(all.end(), changes.begin(), changes.end());
  return load_config({}, all);
}

std::vector<std::int64_t> logged_steps(const Config& config) {
  LoggedSteps logged(config);
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1; step <= total_steps(config); ++step) {
    if (logged.takes(StepRecord{.step = step, .tokens = 128 * step})) steps.push_back(step);
  }
  if (const auto last = logged.take_last()) steps.push_back(last->step);
  return steps;
}

TEST(Due, TheRunIsRoundedUpToWholeSteps) { EXPECT_EQ(total_steps(config({})), 11); }

// Multiples of 512 are passed by steps 4 and 8; the last one is always logged.
TEST(Due, StepsAreLoggedByTokensAndAtTheEnd) {
  EXPECT_EQ(logged_steps(config({})).size(), 11U);
  const Config seldom = config({"run.log_every_tokens=512"});
  EXPECT_EQ(logged_steps(seldom), (std::vector<std::int64_t>{4, 8, 11}));
  LoggedSteps logged(seldom);
  EXPECT_TRUE(logged.takes(StepRecord{.step = 2, .tokens = 256, .skipped = "why"}));
  EXPECT_FALSE(logged.take_last()) << "it is logged already";
}

// 300 tokens are passed by step 3, 600 by step 5.
TEST(Due, TheNewestSaveIsTheOneThatTokensAskedFor) {
  const Config c = config({});
  EXPECT_EQ(newest_due_save(c, 0), 0);
  EXPECT_EQ(newest_due_save(c, 2 * 128), 0);
  EXPECT_EQ(newest_due_save(c, 3 * 128), 3);
  EXPECT_EQ(newest_due_save(c, 4 * 128), 3);
  EXPECT_EQ(newest_due_save(c, 5 * 128), 5);
}

}  // namespace
}  // namespace alibi
