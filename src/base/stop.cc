#include "base/stop.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <future>
#include <initializer_list>
#include <thread>
#include <utility>

#include "base/error.h"

namespace alibi {
namespace {

// A mutable global: a handler has no other way.
std::atomic<int> requested = 0;
std::atomic<bool> abandoned_work = false;
static_assert(std::atomic<int>::is_always_lock_free, "a handler may set it");

// The end of a terminal may be told twice, by its shell and by the kernel: no second wish.
void on_signal(int signal) {
  if (requested == 0)
    requested = signal;
  else if (signal != SIGHUP)
    _exit(128 + signal);
}

}  // namespace

void install_stop_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) {
    struct sigaction before {};
    // What was ignored on entry stays so: nohup, and INT of a script's command in the background.
    const bool ignored =
        sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;  // NOLINT
    if (!ignored) sigaction(signal, &action, nullptr);
  }
  // What these two would kill us for comes back as the error of a write, which says where.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  std::signal(SIGCHLD,
              SIG_DFL);  // ignored, as some supervisors leave it, no child's end is reported
}

int stop_signal() { return requested; }
void leave_if_stopped(const std::string& place) {
  if (stop_signal() != 0) throw stopped_error(place, stop_signal(), "nothing was written");
}

void run_unless_stopped(const std::string& place, std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  std::future<void> result = task.get_future();
  std::thread thread(std::move(task));
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (stop_signal() == 0) continue;
    abandoned_work = true;
    thread.detach();
    leave_if_stopped(place);
  }
  thread.join();
  result.get();
}

int leave_process(int code) {
  if (!abandoned_work) return code;
  std::fflush(nullptr);
  _exit(code);  // what the work still uses is not destroyed under it
}

void request_stop(int signal) { requested = signal; }
void clear_stop() { requested = 0; }

}  // namespace alibi
