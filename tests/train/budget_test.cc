// How many tokens fit into a budget of seconds.
#include "train/budget.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/load.h"
#include "config/validate.h"

namespace alibi {
namespace {

// 1024 tokens a step.
Config config(std::vector<std::string> sets) {
  for (const char* set : {"batch.sequence_length=128", "batch.sequences=8", "run.train_seconds=60"})
    sets.push_back(set);
  return load_config({}, sets);
}

TEST(Budget, HoldsWholeStepsTheirValidationsAndTheLastCheckpoint) {
  const Pace pace{.step = 0.5, .validation = 1, .save = 2};
  // 62 s: 2 for the checkpoint, 10 for a validation every tenth.
  EXPECT_EQ(tokens_within(config({}), pace, 62), 100 * 1024);
  // One every 4 steps, and one at the end: 4 steps take 3 s.
  EXPECT_EQ(tokens_within(config({"run.evaluate_every_tokens=4096"}), pace, 63), 80 * 1024);
  EXPECT_EQ(tokens_within(config({"run.evaluate_every_tokens=1"}), pace, 63), 40 * 1024);
  // Fewer steps than that have a validation each.
  const Pace quick{.step = 0.5, .validation = 0.1, .save = 2};
  EXPECT_EQ(tokens_within(config({}), quick, 5), 5 * 1024);
  EXPECT_EQ(tokens_within(config({}), pace, 1), 1024);
  const Pace late{.step = 0.5, .validation = 1, .save = 2, .start = 10};
  EXPECT_EQ(tokens_within(config({}), late, 72), tokens_within(config({}), pace, 62));
  EXPECT_EQ(validations_within(late, 30), validations_within(pace, 20));
}

TEST(Budget, OneThatWasHeldUpIsNotThePace) {
  RecentSeconds recent;
  EXPECT_EQ(recent.add(9), 9);
  EXPECT_EQ(recent.add(1), 1);
  for (const double seconds : {2.0, 3.0}) recent.add(seconds);
  EXPECT_EQ(recent.add(100), 3);
  EXPECT_EQ(recent.add(4), 3);  // of 1, 2, 3, 100, 4
  for (int i = 0; i < 5; ++i) recent.add(50);
  EXPECT_EQ(recent.add(2), 50);
}

// Seen failing with the mean, which a neighbour of some steps spoils.
TEST(Budget, IsPlannedByTheFasterQuarterOfSteps) {
  EXPECT_EQ(planned_step({9, 1, 8, 2, 7, 3, 6, 4}), 3);
  EXPECT_EQ(planned_step({5, 100, 5, 5}), 5);
  EXPECT_EQ(planned_step({3, 2}), 2);
  EXPECT_EQ(planned_step({3}), 3);
}

// Ten validations of 5 s would leave 12 of 62 s.
TEST(Budget, ValidationsTakeAQuarterAtMost) {
  const Pace pace{.step = 0.1, .validation = 5, .save = 2};
  EXPECT_EQ(validations_within(pace, 62), 3);
  EXPECT_EQ(tokens_within(config({}), pace, 62), 450 * 1024);
  EXPECT_EQ(validations_within(pace, 12), 1);  // the last
  EXPECT_EQ(tokens_within(config({}), pace, 12), 50 * 1024);
  EXPECT_EQ(validations_within(pace, 1), 1);
  EXPECT_EQ(validations_within(pace, 2000), 10);
  EXPECT_EQ(validations_within({.step = 1, .validation = 0, .save = 1}, 1), 10);
  // Where a cadence is given it is kept.
  EXPECT_EQ(tokens_within(config({"run.evaluate_every_tokens=10240"}), pace, 62), 91 * 1024);
}

TEST(Budget, TokensAreOpenUntilTheyAreFixed) {
  const Config open = config({"schedule.kind=wsd", "schedule.warmup_tokens=5000"});
  EXPECT_FALSE(open.run.train_tokens || open.run.save_every_tokens || open.schedule.decay_tokens);
  EXPECT_EQ(config_json(parse_config(config_json(open), "open")), config_json(open));
  const Config fixed = with_train_tokens(open, 20'000);
  EXPECT_EQ(fixed.run.train_tokens, 20'000);
  EXPECT_EQ(fixed.run.save_every_tokens, 2'000);
  EXPECT_EQ(fixed.schedule.decay_tokens, 4'000);
  EXPECT_THROW(with_train_tokens(open, 4'000), Error);
  EXPECT_EQ(load_config({}, {}).run.train_tokens, 2'000'000);
}

}  // namespace
}  // namespace alibi
