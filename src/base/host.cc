#include "base/host.h"

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <numeric>
#include <thread>

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

int open_socket(int family, int kind) { return ::socket(family, kind | SOCK_CLOEXEC, 0); }

}  // namespace alibi
