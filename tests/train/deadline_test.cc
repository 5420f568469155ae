// Runs that a deadline ends, and what going on with them does.
#include <gtest/gtest.h>

#include <map>

#include "train/example.h"

namespace alibi {
namespace {

const std::vector<std::string> kTimed = {"run.train_seconds=1000", "run.evaluate_every_tokens=256",
                                         "run.save_every_tokens=256"};

std::vector<std::string> with_seconds(const std::string& seconds) {
  std::vector<std::string> changes = kTimed;
  changes.front() = "run.train_seconds=" + seconds;
  return changes;
}

// Ends after its first step.
void train_past_deadline(TrainExample& example, const std::string& run) {
  example.seconds_left = 0;
  EXPECT_EQ(example.train(example.config(run, kTimed), false), 0);
  const Progress ended = example.newest(run).progress;
  EXPECT_TRUE(ended.finished);
  EXPECT_EQ(ended.step, 1);
  EXPECT_EQ(ended.validated_step, 1);
}

// Seen failing with "finished" kept: each checkpoint until the next end said so, a run that was
// killed there took itself for finished, and what was best and due was saved twice.
TEST(Deadline, ARunThatGoesOnBehindItIsNotFinished) {
  TrainExample example;
  train_past_deadline(example, "run");
  example.seconds_left.reset();
  std::map<std::int64_t, int> saves;
  example.on_event = [&](const Event& event) {
    const auto* save = std::get_if<SaveRecord>(&event);
    if (save == nullptr) return;
    ++saves[save->step];
    if (save->step == 12) return;
    EXPECT_FALSE(load_checkpoint(save->folder, Load::kAll).progress.finished) << save->step;
  };
  EXPECT_EQ(example.train(example.config("run", with_seconds("null")), true), 0);
  EXPECT_GE(saves.size(), 5U);
  saves.erase(12);  // saved when it was best, then as the end
  for (const auto& [step, count] : saves) EXPECT_EQ(count, 1) << step;
  EXPECT_TRUE(example.newest("run").progress.finished);
  EXPECT_EQ(example.newest("run").progress.step, 12);
}

// Seen failing with any budget taken for the one that had ended the run.
TEST(Deadline, HoldsUntilALaterOneIsGiven) {
  TrainExample example;
  train_past_deadline(example, "run");
  example.seconds_left = 1000;
  for (const char* seconds : {"1000", "10"}) {
    EXPECT_EQ(example.train(example.config("run", with_seconds(seconds)), true), 0);
    EXPECT_TRUE(example.events.empty()) << seconds;
  }
  EXPECT_EQ(example.train(example.config("run", with_seconds("2000")), true), 0);
  EXPECT_EQ(example.newest("run").progress.step, 12);
  // The schedule was at its end: nothing is left for more seconds.
  EXPECT_EQ(example.train(example.config("run", with_seconds("3000")), true), 0);
  EXPECT_TRUE(example.events.empty());
}

}  // namespace
}  // namespace alibi
