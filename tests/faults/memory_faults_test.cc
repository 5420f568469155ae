// Memory that runs out halves the micro batch (R12), and the run is the one that had that size from
// the step before. Seen failing with the gradients of the broken attempt not set to zero. Also with
// halving that does not stop at one sequence, with the smaller size forgotten on resume, and with
// memory that runs out in a validation or in the copy for a save passed on.
#include <c10/core/CPUAllocator.h>

#include "faults/everything_on.h"
#include "support/error_text.h"

namespace alibi {
namespace {

// LibTorch's allocator, which refuses one allocation as the system's does.
class FailingAllocator final : public c10::Allocator {
 public:
  FailingAllocator() : real_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, kPriority); }
  ~FailingAllocator() override { c10::SetCPUAllocator(real_, kPriority); }

  // The `nth` allocation from now on fails, `times` times over.
  void fail_at(std::int64_t nth, std::int64_t times = 1) {
    left_ = nth;
    times_ = times;
  }
  bool has_failed() const { return times_ == 0; }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (times_ > 0 && --left_ <= 0) {
      --times_;
      left_ = 1;
      TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ",
                  bytes, " bytes. Error code 12 (Cannot allocate memory)");
    }
    return real_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    real_->copy_data(to, from, bytes);
  }

 private:
  static constexpr std::uint8_t kPriority = 100;
  c10::Allocator* real_;
  std::int64_t left_ = 0;
  std::int64_t times_ = 0;
};

// Arms the allocator when step 5 is done, so that step 6 meets it.
int train_short_of_memory(TrainExample& example, const Config& config, FailingAllocator& allocator,
                          std::int64_t nth, std::int64_t times = 1) {
  example.on_event = [&](const Event& event) {
    const auto* step = std::get_if<StepRecord>(&event);
    if (step != nullptr && step->step == 5) allocator.fail_at(nth, times);
  };
  const int code = example.train(config, false);
  example.on_event = {};
  return code;
}

const std::vector<std::string> kPlain = {"run.save_every_tokens=512", "run.keep_checkpoints=100",
                                         "data.valid=[]", "data.valid_fraction=0"};

TEST(MemoryFaults, AStepThatDoesNotFitIsDoneAgainInHalves) {
  FailingAllocator allocator;
  TrainExample example;
  // A run whose micro batches are halved by hand after step 5.
  ASSERT_EQ(example.train(example.config("by-hand", kPlain), false, 5), 2);
  Checkpoint halved = example.newest("by-hand");
  ASSERT_EQ(halved.progress.micro_batch_tokens, 0);
  halved.progress.micro_batch_tokens = 32;
  save_checkpoint(example.path("by-hand/checkpoints"), halved);
  ASSERT_EQ(example.train(example.config("by-hand", kPlain), true), 0);
  for (const std::int64_t nth : {1, 20, 60, 120}) {
    const std::string run = cat("short-", nth);
    ASSERT_EQ(train_short_of_memory(example, example.config(run, kPlain), allocator, nth), 0);
    ASSERT_TRUE(allocator.has_failed()) << nth;
    const auto events = example.events_of<MicroBatchRecord>();
    ASSERT_EQ(events.size(), 1U) << nth;
    EXPECT_EQ(events[0].step, 6);
    EXPECT_EQ(events[0].tokens, 32);
    expect_same_end(example, "by-hand", run, run);
  }
}

TEST(MemoryFaults, OneSequenceThatDoesNotFitIsOneLine) {
  FailingAllocator allocator;
  TrainExample example;
  EXPECT_ERROR_AT(error_text([&] {
                    train_short_of_memory(example, example.config("run", kPlain), allocator, 1,
                                          1000);
                  }),
                  "step 6", 8, "runtime.recompute");
  allocator.fail_at(0, 0);
  const auto events = example.events_of<MicroBatchRecord>();
  ASSERT_EQ(events.size(), 3U);  // 64 tokens, then 32, 16, 8
  EXPECT_EQ(events.back().tokens, 8);
  EXPECT_EQ(example.newest("run").progress.step, 4);
}

TEST(MemoryFaults, TheSmallerSizeSurvivesAResume) {
  FailingAllocator allocator;
  TrainExample example;
  ASSERT_EQ(train_short_of_memory(example, example.config("whole", kPlain), allocator, 1), 0);
  example.on_event = [&](const Event& event) {
    const auto* step = std::get_if<StepRecord>(&event);
    if (step != nullptr && step->step == 5) allocator.fail_at(1);
  };
  ASSERT_EQ(example.train(example.config("run", kPlain), false, 7), 2);
  example.on_event = {};
  ASSERT_EQ(example.newest("run").progress.micro_batch_tokens, 32);
  ASSERT_EQ(example.train(example.config("run", kPlain), true), 0);
  expect_same_end(example, "whole", "run", "resumed");
}

// The validation after step 8 takes smaller batches, and comes to the same loss.
TEST(MemoryFaults, AValidationThatDoesNotFitIsMadeInSmallerBatches) {
  FailingAllocator allocator;
  TrainExample example;
  ASSERT_EQ(example.train(example.config("whole"), false), 0);
  const double loss = example.events_of<ValidationRecord>().at(1).validation_loss;
  example.on_event = [&](const Event& event) {
    const auto* step = std::get_if<StepRecord>(&event);
    if (step != nullptr && step->step == 8) allocator.fail_at(5);
  };
  ASSERT_EQ(example.train(example.config("run"), false), 0);
  EXPECT_TRUE(allocator.has_failed());
  EXPECT_EQ(example.events_of<ValidationRecord>().at(1).step, 8);
  EXPECT_NEAR(example.events_of<ValidationRecord>().at(1).validation_loss, loss, 1e-6);
  EXPECT_TRUE(same_tensors(example.newest("whole").weights, example.newest("run").weights));
}

// No memory for the copy that is written in the background: then it is written at once.
TEST(MemoryFaults, ACopyThatDoesNotFitIsDoneWithout) {
  FailingAllocator allocator;
  TrainExample example;
  ASSERT_EQ(example.train(example.config("whole", kPlain), false), 0);
  example.on_event = [&](const Event& event) {
    const auto* step = std::get_if<StepRecord>(&event);
    if (step != nullptr && step->step == 4) allocator.fail_at(1);
  };
  ASSERT_EQ(example.train(example.config("run", kPlain), false), 0);
  EXPECT_TRUE(allocator.has_failed());
  EXPECT_TRUE(example.events_of<MicroBatchRecord>().empty());
  EXPECT_TRUE(std::filesystem::exists(example.path("run/checkpoints/step-00000004")));
  expect_same_end(example, "whole", "run", "without a copy");
}

}  // namespace
}  // namespace alibi
