// Ends the process where a call cannot: one that hangs in a library beyond its own time limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

namespace alibi {

class Watchdog {
 public:
  Watchdog();  // starts the thread
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Unless told otherwise within `limit`, writes "error: `reason`" to stderr and the log file, and
  // leaves by _exit(1): nothing is destroyed, as that may hang, too. Unfinished work
  // (base/unfinished_work.h) comes to its end first.
  void arm(std::string reason, std::chrono::milliseconds limit);
  void disarm();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  void watch();
  [[noreturn]] void leave() const;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::string reason_;
  Clock::time_point deadline_ = kNever, wakes_at_ = kNever;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace alibi
