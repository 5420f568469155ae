// Counts the system calls by which files are changed (base/system_calls.h), and makes some fail.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/system_calls.h"

namespace alibi {

struct SeenCall {
  SystemCall call;
  std::string path;
};

// While it lives every call passes here. Calls count from 1.
class SystemCallCounter {
 public:
  struct Plan {
    std::int64_t kill_before = -1;  // the process dies before this call
    std::int64_t fail_at = -1;      // this call fails with `error`,
    bool for_good = false;          // and all calls after it
    int error = 0;
  };
  explicit SystemCallCounter(Plan plan) : plan_(plan) {
    set_system_call_hook([this](SystemCall call, const std::filesystem::path& path) {
      seen_.push_back({call, path.string()});
      const std::int64_t now = ++count_;
      if (now == plan_.kill_before) ::raise(SIGKILL);
      const bool fails = now == plan_.fail_at || (plan_.for_good && now > plan_.fail_at);
      return plan_.fail_at > 0 && fails ? plan_.error : 0;
    });
  }
  SystemCallCounter() : SystemCallCounter(Plan{}) {}
  ~SystemCallCounter() { set_system_call_hook({}); }
  SystemCallCounter(const SystemCallCounter&) = delete;
  SystemCallCounter& operator=(const SystemCallCounter&) = delete;

  std::int64_t count() const { return count_; }
  const std::vector<SeenCall>& seen() const { return seen_; }

 private:
  Plan plan_;
  std::int64_t count_ = 0;
  std::vector<SeenCall> seen_;  // one thread at a time writes files
};

inline const char* name_of(SystemCall call) {
  constexpr const char* kNames[] = {"open", "write", "fsync", "close", "rename", "mkdir", "remove"};
  return kNames[static_cast<int>(call)];
}

}  // namespace alibi
