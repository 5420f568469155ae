// One piece of work at a time on a thread of its own, while its owner goes on. Neither LibTorch nor
// OpenMP is seen here, so that ThreadSanitizer can watch all of it.
#pragma once

#include <functional>
#include <future>

namespace alibi {

class BackgroundWork {
 public:
  BackgroundWork() = default;
  ~BackgroundWork();  // waits; what the work threw is lost
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // Waits for the work before, throws what that threw, else starts this one: on a thread, or, where
  // none is wanted or to be had, here and now; what it throws is kept for wait() either way.
  void start(bool on_a_thread, std::function<void()> work);

  // Waits until nothing runs and throws, once, what the work threw.
  void wait();

  bool is_running() const;  // false once the work is done, even where nobody has waited yet

 private:
  std::future<void> running_;
};

}  // namespace alibi
