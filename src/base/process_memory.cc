#include "base/process_memory.h"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "base/control_groups.h"

namespace alibi {
namespace {

constexpr const char* kStatus = "/proc/self/status";

// The value of `key` in a file like /proc/self/status or /proc/meminfo, which count in kB; 0 where
// file or key is missing.
std::int64_t proc_bytes(const std::filesystem::path& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key + ":")) continue;
    std::istringstream fields(line.substr(key.size() + 1));
    std::int64_t kib = 0;
    fields >> kib;
    return kib * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t resident_bytes() { return proc_bytes(kStatus, "VmRSS"); }

std::int64_t peak_resident_bytes() { return proc_bytes(kStatus, "VmHWM"); }

void reset_peak_resident_bytes() { std::ofstream("/proc/self/clear_refs") << "5"; }

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
}

bool give_back_freed_memory() { return malloc_trim(0) != 0; }

void return_large_blocks() {
  mallopt(M_MMAP_MAX, 1 << 16);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

namespace fs = std::filesystem;
namespace {

// A limit's file holds a number or "max".
std::optional<std::int64_t> limit_in(const fs::path& file) {
  std::ifstream text(file);
  std::int64_t bytes = 0;
  if (!(text >> bytes) || bytes <= 0) return std::nullopt;
  return bytes;
}

void take(MemoryLimit& least, std::optional<std::int64_t> bytes, const char* source) {
  if (bytes && *bytes < least.bytes) least = {*bytes, source};
}

void take_groups(MemoryLimit& least, const fs::path& root) {
  for (const ControlGroup& group : control_groups(root, "memory")) {
    const char* name = group.unified ? "memory.max" : "memory.limit_in_bytes";
    const char* source = group.unified ? "control group memory.max" : "control group memory limit";
    take(least, limit_in(group.folder / name), source);
  }
}

// Of ulimit -v and -d: mapped memory counts there, much of which LibTorch never touches.
std::optional<std::int64_t> resource_limit(const fs::path& root, __rlimit_resource which,
                                           const char* counted) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const fs::path status = root / "proc/self/status";
  const std::int64_t untouched =
      std::max<std::int64_t>(0, proc_bytes(status, counted) - proc_bytes(status, "VmRSS"));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(limit.rlim_cur) - untouched);
}

}  // namespace

MemoryLimit memory_limit(const fs::path& root) {
  MemoryLimit least{std::numeric_limits<std::int64_t>::max(), "no limit known"};
  const fs::path memory = root / "proc/meminfo";
  if (const std::int64_t free = proc_bytes(memory, "MemAvailable"); free > 0) {
    const std::int64_t held = proc_bytes(root / "proc/self/status", "VmRSS");
    take(least, free + proc_bytes(memory, "SwapFree") + held, "free memory of this machine");
  }
  take_groups(least, root);
  take(least, resource_limit(root, RLIMIT_AS, "VmSize"), "ulimit -v");
  take(least, resource_limit(root, RLIMIT_DATA, "VmData"), "ulimit -d");
  return least;
}

}  // namespace alibi
