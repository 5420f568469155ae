#include "base/system_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace alibi {
namespace {

SystemCallHook& hook() {
  static SystemCallHook set;
  return set;
}

// True when the hook refuses the call; errno is then set.
bool refused(SystemCall call, const std::filesystem::path& path) {
  if (!hook()) return false;
  const int error = hook()(call, path);
  if (error != 0) errno = error;
  return error != 0;
}

}  // namespace

void set_system_call_hook(SystemCallHook now) { hook() = std::move(now); }

namespace system_calls {

int open(const std::filesystem::path& path, int how) {
  if (refused(SystemCall::kOpen, path)) return -1;
  return ::open(path.c_str(), how | O_CLOEXEC, 0666);
}

int open_folder(const std::filesystem::path& path) {
  if (refused(SystemCall::kOpen, path)) return -1;
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

ssize_t write(int descriptor, const std::filesystem::path& path, const std::byte* bytes,
              std::size_t count) {
  if (refused(SystemCall::kWrite, path)) return -1;
  return ::write(descriptor, bytes, count);
}

ssize_t write_at(int descriptor, const std::filesystem::path& path, const std::byte* bytes,
                 std::size_t count, off_t offset) {
  if (refused(SystemCall::kWrite, path)) return -1;
  return ::pwrite(descriptor, bytes, count, offset);
}

int sync(int descriptor, const std::filesystem::path& path) {
  if (refused(SystemCall::kSync, path)) return -1;
  return ::fsync(descriptor);
}

// A refused close still gives the descriptor back, as the system's does.
int close(int descriptor, const std::filesystem::path& path) {
  const bool is_refused = refused(SystemCall::kClose, path);
  const int error = errno;
  const int result = ::close(descriptor);
  if (is_refused) errno = error;
  return is_refused ? -1 : result;
}

int rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (refused(SystemCall::kRename, to)) return -1;
  return std::rename(from.c_str(), to.c_str());
}

int make_folder(const std::filesystem::path& path) {
  if (refused(SystemCall::kMakeFolder, path)) return -1;
  return ::mkdir(path.c_str(), 0777);
}

int remove(const std::filesystem::path& path) {
  if (refused(SystemCall::kRemove, path)) return -1;
  return std::remove(path.c_str());
}

}  // namespace system_calls
}  // namespace alibi
