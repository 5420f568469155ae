// Resume is exact to the bit at every step (R5). Seen failing with the guard's window left out of
// progress.json, and with the moments not loaded.
#include "faults/everything_on.h"
#include "faults/rounds.h"

namespace alibi {
namespace {

TEST(ResumeEveryStepSlow, GivesTheUninterruptedRun) {
  TrainExample example;
  ASSERT_EQ(example.train(example.config("whole", everything_on()), false), 0);
  const Progress end = example.newest("whole").progress;
  ASSERT_EQ(end.step, kManySteps);
  ASSERT_GT(end.skipped_steps, 0) << "the guard was to skip some";
  ASSERT_EQ(end.recent_losses.size(), 16U);
  for (std::int64_t step = 1; step < kManySteps; ++step) {
    const std::string run = cat("stopped-", step);
    const Config config = example.config(run, everything_on());
    ASSERT_EQ(example.train(config, false, step), 2);
    ASSERT_EQ(example.newest(run).progress.step, step);
    ASSERT_EQ(example.train(config, true), 0);
    expect_same_end(example, "whole", run, run);
    std::filesystem::remove_all(example.path(run));
  }
}

TEST(ResumeEveryStep, AChainOfTwentyResumes) {
  TrainExample example;
  ASSERT_EQ(example.train(example.config("whole", everything_on()), false), 0);
  const Config config = example.config("chain", everything_on());
  std::int64_t stop = 0;
  for (std::int64_t link = 0; link < 20; ++link) {
    stop += 1 + static_cast<std::int64_t>(drawn("link", link) * 4) % 4;
    if (stop >= kManySteps) break;
    ASSERT_EQ(example.train(config, link > 0, stop), 2);
  }
  ASSERT_EQ(example.train(config, true), 0);
  expect_same_end(example, "whole", "chain", "chain");
}

}  // namespace
}  // namespace alibi
