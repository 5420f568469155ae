#include "distributed/watchdog.h"

#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "base/unfinished_work.h"

namespace alibi {
namespace {

constexpr std::chrono::milliseconds kNap{20};
constexpr std::chrono::minutes kLongestWork{10};  // a disk may hang, too

}  // namespace

Watchdog::Watchdog() : thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::arm(std::string reason, std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  reason_ = std::move(reason);
  deadline_ = Clock::now() + limit;
  // Armed anew some thousand times a second: the thread sleeps on until the first deadline it knew.
  if (deadline_ < wakes_at_) changed_.notify_one();
}

void Watchdog::disarm() {
  const std::lock_guard lock(mutex_);
  deadline_ = kNever;
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    const auto now = Clock::now();
    const bool late = deadline_ <= now;
    if (late && (!has_unfinished_work() || now >= deadline_ + kLongestWork)) leave();
    wakes_at_ = late ? now + kNap : deadline_;
    if (wakes_at_ == kNever)
      changed_.wait(lock);
    else
      changed_.wait_until(lock, wakes_at_);
  }
}

void Watchdog::leave() const {
  const std::string line = cat("error: ", reason_, "\n");
  for (const int descriptor : {STDERR_FILENO, log_file_descriptor()}) {
    const ssize_t written = ::write(descriptor, line.data(), line.size());
    static_cast<void>(written);
  }
  ::_exit(1);
}

}  // namespace alibi
