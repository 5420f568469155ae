// Ranks of one world as processes, which can be killed and stopped.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "distributed/ranks.h"
#include "support/temporary_folder.h"

namespace alibi {

struct RankEnd {
  int code = -1;          // 0: its call returned; 3: it threw an Error; 128 + signal
  std::string text;       // what it wrote to stderr, and what it threw
  double at_seconds = 0;  // when the parent saw it, by seconds_now()
};

// Children are forked, not started anew, which saves LibTorch's half second each: the parent must
// hold no world and no threads of LibTorch's meanwhile.
class ForkedRanks {
 public:
  ~ForkedRanks() {
    for (const pid_t child : children_) {
      if (child <= 0) continue;
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

  std::string store() const { return folder_.path() / "store"; }

  // The next rank; `call` runs in the child.
  void start(const std::function<void()>& call) {
    const std::string output = output_of(children_.size());
    const pid_t child = fork();
    if (child != 0) return children_.push_back(child);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
    int code = 0;
    try {
      call();
    } catch (const Error& error) {
      dprintf(STDERR_FILENO, "%s\n", error.what());
      code = 3;
    }
    _exit(code);
  }

  // All ranks of a world; `call` says "ready" by mark_ready.
  void start_world(int size, const WorldOptions& options, const std::function<void(World&)>& call) {
    for (int rank = 0; rank < size; ++rank) {
      start([&, rank] {
        World world(place_of(rank, size, store()), options);
        call(world);
      });
    }
  }

  // In a child: that the test may go on; in the parent: waits for all ranks.
  void mark_ready(int rank) const { write_file_atomic(ready_of(rank), "ready"); }
  void wait_until_ready() const {
    for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) {
      const double end = seconds_now() + 20;
      while (!std::filesystem::exists(ready_of(rank)) && seconds_now() < end) usleep(2'000);
      ASSERT_TRUE(std::filesystem::exists(ready_of(rank))) << "rank " << rank;
    }
  }

  void signal(int rank, int number) { kill(children_[static_cast<std::size_t>(rank)], number); }

  RankEnd wait(int rank) {
    pid_t& child = children_[static_cast<std::size_t>(rank)];
    int status = 0;
    waitpid(child, &status, 0);
    child = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            read_file(output_of(static_cast<std::size_t>(rank))), seconds_now()};
  }

 private:
  std::string output_of(std::size_t rank) const {
    return folder_.path() / (std::to_string(rank) + ".txt");
  }
  std::string ready_of(int rank) const {
    return folder_.path() / (std::to_string(rank) + ".ready");
  }

  TemporaryFolder folder_;
  std::vector<pid_t> children_;
};

}  // namespace alibi
