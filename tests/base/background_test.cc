// Work on another thread: order, errors, and what it may see. Seen failing with start() that does
// not wait for the work before, with is_running() true for work that is done, and with work put off
// until somebody waits.
#include "base/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace alibi {
namespace {

TEST(Background, RunsBesideItsOwner) {
  std::promise<void> go;
  std::atomic<bool> done = false;
  BackgroundWork work;
  std::promise<void> begun;
  work.start(true, [&] {
    begun.set_value();
    go.get_future().wait();
    done = true;
  });
  EXPECT_EQ(begun.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_TRUE(work.is_running());
  EXPECT_FALSE(done);
  go.set_value();
  work.wait();
  EXPECT_TRUE(done);
  EXPECT_FALSE(work.is_running());
}

TEST(Background, WithoutAThreadItIsDoneAtOnce) {
  BackgroundWork work;
  std::thread::id where;
  work.start(false, [&] { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_FALSE(work.is_running());
}

// Nothing but the order of start() and wait() guards the vector: ThreadSanitizer would see a race.
TEST(Background, OnePieceAtATimeAndItsResultIsSeen) {
  std::vector<int> seen;
  {
    BackgroundWork work;
    for (int i = 0; i < 200; ++i) {
      work.start(i % 5 != 0, [&seen, i] { seen.push_back(i); });
      if (i % 3 == 0) {
        work.wait();
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(i + 1));
      }
    }
  }
  EXPECT_EQ(seen.size(), 200U) << "the last one is waited for";
}

TEST(Background, WhatItThrowsIsThrownOnce) {
  for (const bool thread : {true, false}) {
    BackgroundWork work;
    work.start(thread, [] { throw std::runtime_error("disk"); });
    EXPECT_THROW(work.wait(), std::runtime_error);
    work.wait();
    work.start(thread, [] { throw std::runtime_error("disk"); });
    EXPECT_THROW(work.start(thread, [] {}), std::runtime_error) << "before anything new begins";
    work.start(thread, [] {});
    work.wait();
  }
}

}  // namespace
}  // namespace alibi
