#include "base/host.h"

#include <sys/socket.h>

#include <filesystem>

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

int open_socket(int family, int kind) { return ::socket(family, kind | SOCK_CLOEXEC, 0); }

}  // namespace alibi
