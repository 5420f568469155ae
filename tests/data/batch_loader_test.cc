// The next batch is read meanwhile, and the one asked for is given. Seen failing with any batch
// read ahead taken for it, with the next one read on the caller's thread, and with the error of a
// batch that nobody asked for thrown.
#include "data/batch_loader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace alibi {
namespace {

Batch numbered(std::int64_t step) {
  Batch batch;
  batch.inputs = {step};
  return batch;
}

TEST(BatchLoader, GivesTheBatchAskedForInAnyOrder) {
  BatchLoader loader(numbered);
  for (const std::int64_t step : {0, 1, 2, 7, 8, 3, 3, 4})
    EXPECT_EQ(loader.take(step).inputs.at(0), step);
}

TEST(BatchLoader, ReadsTheNextBatchMeanwhileOnAnotherThread) {
  std::promise<std::thread::id> started;
  BatchLoader loader([&](std::int64_t step) {
    if (step == 1) started.set_value(std::this_thread::get_id());
    return numbered(step);
  });
  loader.take(0);
  // Nobody has asked for step 1.
  auto future = started.get_future();
  ASSERT_EQ(future.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_NE(future.get(), std::this_thread::get_id());
}

TEST(BatchLoader, ReadsEachBatchOnce) {
  std::mutex mutex;
  std::vector<std::int64_t> steps;
  {
    BatchLoader loader([&](std::int64_t step) {
      const std::lock_guard lock(mutex);
      steps.push_back(step);
      return numbered(step);
    });
    for (std::int64_t step = 0; step < 4; ++step) loader.take(step);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(BatchLoader, AnErrorComesWithTheBatchItBelongsTo) {
  BatchLoader loader([](std::int64_t step) {
    if (step == 1) throw std::runtime_error("disk");
    return numbered(step);
  });
  EXPECT_EQ(loader.take(0).inputs.at(0), 0);
  EXPECT_THROW(loader.take(1), std::runtime_error);
  EXPECT_EQ(loader.take(2).inputs.at(0), 2);
  EXPECT_EQ(loader.take(0).inputs.at(0), 0);
  EXPECT_EQ(loader.take(5).inputs.at(0), 5);
}

}  // namespace
}  // namespace alibi
