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
  explicit Watchdog(std::string who);  // "rank 3": begins its line. Starts the thread
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Unless told otherwise within `limit`, writes one line to stderr and the log file, and leaves by
  // _exit(1): nothing is destroyed, as that may hang, too. `what` stays valid until then.
  void arm(const char* what, std::chrono::milliseconds limit);
  void disarm();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  void watch();
  [[noreturn]] void leave() const;

  const std::string who_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  const char* what_ = "";
  std::chrono::milliseconds limit_{0};
  Clock::time_point deadline_ = kNever, wakes_at_ = kNever;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace alibi
