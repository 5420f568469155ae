// The log of a run that goes on: what stays of it, on disk and for the other sinks.
#include "train/log_sink.h"

#include <gtest/gtest.h>

#include "train/example.h"

namespace alibi {
namespace {

std::vector<std::int64_t> steps_of(const RunLog& log) {
  std::vector<std::int64_t> steps;
  for (const StepRecord& step : log.steps) steps.push_back(step.step);
  return steps;
}

TEST(LogSink, HandsOnWhatTheCheckpointPromises) {
  TrainExample example;
  const Config config = example.config("run");
  example.train(config, false, 7);
  std::filesystem::remove_all(example.path("run/checkpoints/step-00000007"));
  const RunFolder folder(config, true);
  const auto resume = folder.resume_point(config);
  ASSERT_TRUE(resume && resume->progress.step < 7);
  LogSink sink(config, folder, resume);
  const RunLog earlier = sink.take_earlier();
  EXPECT_EQ(std::ssize(earlier.steps), resume->progress.step);
  EXPECT_EQ(steps_of(earlier), steps_of(read_run_log(folder.log())));
  EXPECT_FALSE(earlier.validations.empty());
}

// Seen failing with the writer opened before the log is cut: its lines go into the old file.
TEST(LogSink, AppendsBehindTheCut) {
  TrainExample example;
  const Config config = example.config("run", {"run.log_every_tokens=256"});
  const RunFolder folder(config, true);
  write_file_atomic(folder.log(), log_line(StepRecord{.step = 9}) + "\n");
  LogSink sink(config, folder, std::nullopt);
  EXPECT_TRUE(sink.take_earlier().steps.empty());
  sink.take(StepRecord{.step = 1, .tokens = kStepTokens});  // not due
  sink.take(StepRecord{.step = 2, .tokens = 2 * kStepTokens});
  sink.take(SaveRecord{.step = 2, .folder = "f"});
  sink.take(ChangeRecord{.step = 3, .changed = "/run/seed: 1, was 0"});
  EXPECT_EQ(steps_of(read_run_log(folder.log())), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(example.log("run").size(), 2U);
}

}  // namespace
}  // namespace alibi
