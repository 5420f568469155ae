// Runs that a deadline ends, and what going on with them does.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "support/error_text.h"
#include "support/hook_off.h"
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

// Seen failing with the deadline looked at before a validation alone: a step and a validation more.
TEST(Deadline, IsLookedAtBehindAValidation) {
  TrainExample example;
  example.seconds_left = 3;
  example.on_event = [&](const Event& event) {
    if (std::holds_alternative<ValidationRecord>(event))
      std::this_thread::sleep_for(std::chrono::seconds(3));
  };
  EXPECT_EQ(example.train(example.config("run", {"run.train_seconds=3"}), false), 0);
  EXPECT_EQ(example.events_of<StepRecord>().size(), 4U);
  EXPECT_EQ(example.events_of<ValidationRecord>().size(), 1U);
  EXPECT_TRUE(example.newest("run").progress.finished);
}

// Seen failing with the last step alone as the pace.
TEST(Deadline, OneSlowStepIsNotThePace) {
  TrainExample example;
  example.seconds_left = 4;
  EXPECT_EQ(example.train(example.config("run", {"run.train_seconds=4"}), false, 0,
                          [](Trainer& trainer) {
                            const auto parameters = trainer.model()->parameters();
                            parameters.front().register_hook([&](const torch::Tensor&) {
                              if (trainer.progress().step == 5)
                                std::this_thread::sleep_for(std::chrono::milliseconds(1200));
                            });
                          }),
            0);
  EXPECT_EQ(example.newest("run").progress.step, 12);
}

// Seen failing with the first validation taken for one that takes no time.
TEST(Deadline, LeavesTimeForTheFirstValidation) {
  TrainExample example;
  example.seconds_left = 500;
  example.pace.validation = 1000;
  EXPECT_EQ(example.train(example.config("run", {"run.train_seconds=500"}), false), 0);
  EXPECT_EQ(example.newest("run").progress.step, 1);
  EXPECT_EQ(example.events_of<ValidationRecord>().size(), 1U);
}

// Seen failing with a checkpoint expected to take what its size lets expect: the run then made all
// of its steps.
TEST(Deadline, LeavesASlowDiskItsTime) {
  TrainExample example;
  example.seconds_left = 3;
  const HookOff off;
  set_system_call_hook([](SystemCall call, const std::filesystem::path& path) {
    if (call == SystemCall::kRename && path.string().find("step-00000002") != std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(1800));
    return 0;
  });
  EXPECT_EQ(example.train(example.config("run", {"run.train_seconds=3", "run.save_every_tokens=256",
                                                 "run.save_in_background=false"}),
                          false),
            0);
  EXPECT_LE(example.newest("run").progress.step, 4);
}

// A run that goes on at its deadline makes no step. Where its step was not validated yet, that is
// made good, once. Seen failing without that.
TEST(Deadline, OfAResumedRunMayHavePassed) {
  TrainExample example;
  for (const std::int64_t stopped : {4, 5}) {
    const std::string run = cat("run-", stopped);
    const auto config = [&](const char* seconds) {
      return example.config(run, {cat("run.train_seconds=", seconds)});
    };
    example.seconds_left = 1000;
    example.on_event = [&](const Event& event) {  // the validation of step 4 is not cut off
      const auto* step = std::get_if<StepRecord>(&event);
      const auto* validation = std::get_if<ValidationRecord>(&event);
      if ((step != nullptr && step->step == 5 && stopped == 5) ||
          (validation != nullptr && stopped == 4))
        request_stop(2);
    };
    EXPECT_EQ(example.train(config("1000"), false), 2);
    EXPECT_EQ(example.newest(run).progress.step, stopped);
    example.on_event = {};
    example.seconds_left = -10;
    EXPECT_EQ(example.train(config("1000"), true), 0);
    EXPECT_TRUE(example.events_of<StepRecord>().empty());
    EXPECT_EQ(example.events_of<ValidationRecord>().size(), stopped == 4 ? 0U : 1U);
    const Progress end = example.newest(run).progress;
    EXPECT_TRUE(end.finished);
    EXPECT_EQ(end.validated_step, stopped);
    EXPECT_GE(end.train_seconds, 1010);
  }
}

// Seen failing with the seconds not stored.
TEST(Deadline, SecondsOfTheBudgetAreKept) {
  TrainExample example;
  example.seconds_left = 900;
  EXPECT_EQ(example.train(example.config("run", kTimed), false, 3), 2);
  const double used = example.newest("run").progress.train_seconds;
  EXPECT_GE(used, 100);
  EXPECT_LT(used, 500);
  example.seconds_left.reset();
  EXPECT_EQ(example.train(example.config("run", with_seconds("null")), true), 0);
  EXPECT_EQ(example.newest("run").progress.train_seconds, used);  // others are not the budget's
}

// Seen failing with a figure of what the signal had cut off taken for the pace.
TEST(Deadline, ASignalEndsTheProbeAndTheRun) {
  TrainExample example;
  const auto probe = [](Trainer& trainer) {
    request_stop(15);
    trainer.probe(1000);
  };
  EXPECT_ERROR_AT(
      error_text([&] { example.train(example.config("run", kTimed), false, 0, probe); }),
      "the probe for run.train_seconds", "signal 15", "nothing was written");
  clear_stop();
  EXPECT_FALSE(std::filesystem::exists(example.path("run")));
}

}  // namespace
}  // namespace alibi
