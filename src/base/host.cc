#include "base/host.h"

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include "base/control_groups.h"
#include "base/error.h"
#include "base/files.h"

namespace alibi {

std::string boot_id() {
  try {
    return read_file("/proc/sys/kernel/random/boot_id");
  } catch (const Error&) {
    return {};
  }
}

std::string network_namespace() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/ns/net", none).string();
}

std::vector<int> allowed_processors() {
  std::vector<int> allowed;
  // The kernel refuses a set that is smaller than its own.
  for (int most = 1'024; allowed.empty() && most <= 1 << 20; most *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(most), [](cpu_set_t* one) { CPU_FREE(one); });
    if (::sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno != EINVAL) break;
      continue;
    }
    for (int i = 0; i < most; ++i)
      if (CPU_ISSET_S(i, bytes, set.get())) allowed.push_back(i);
  }
  if (allowed.empty()) {  // the system does not say
    allowed.resize(std::max(1U, std::thread::hardware_concurrency()));
    std::iota(allowed.begin(), allowed.end(), 0);
  }
  return allowed;
}

namespace {

// "max 100000" or "200000 100000" of version 2; version 1 has a file for each, -1 for no quota.
std::optional<std::int64_t> processors_of(const ControlGroup& group) {
  std::int64_t quota = 0, period = 0;
  if (group.unified) {
    std::ifstream(group.folder / "cpu.max") >> quota >> period;
  } else {
    std::ifstream(group.folder / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group.folder / "cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return (quota - 1) / period + 1;
}

}  // namespace

std::optional<std::int64_t> processor_quota(const std::filesystem::path& root) {
  std::optional<std::int64_t> least;
  for (const ControlGroup& group : control_groups(root, "cpu")) {
    const std::optional<std::int64_t> granted = processors_of(group);
    if (granted) least = std::min(*granted, least.value_or(*granted));
  }
  return least;
}

int open_socket(int family, int kind) { return ::socket(family, kind | SOCK_CLOEXEC, 0); }

}  // namespace alibi
