#include "base/background.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace alibi {

BackgroundWork::~BackgroundWork() {
  if (running_.valid()) running_.wait();
}

void BackgroundWork::start(bool on_a_thread, std::function<void()> work) {
  wait();
  if (on_a_thread) {
    try {
      running_ = std::async(std::launch::async, work);
      return;
    } catch (const std::system_error&) {
    }
  }
  std::packaged_task<void()> now(std::move(work));
  running_ = now.get_future();
  now();
}

void BackgroundWork::wait() {
  if (running_.valid()) std::exchange(running_, {}).get();
}

bool BackgroundWork::is_running() const {
  return running_.valid() &&
         running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

}  // namespace alibi
