// The system calls by which base/files changes the disk. Each is announced to a hook first, so that
// a test can make the k-th one fail, or be the last thing its process does. The program sets none.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>

namespace alibi {

enum class SystemCall { kOpen, kWrite, kSync, kClose, kRename, kMakeFolder, kRemove };

// Returns 0 to let the call happen, or the errno it is to fail with. `path` is what is changed.
using SystemCallHook = std::function<int(SystemCall call, const std::filesystem::path& path)>;

// Empty: none. Not to be called while another thread writes.
void set_system_call_hook(SystemCallHook hook);

// As the calls they are named after: -1 and errno on failure. What is opened is opened to write.
namespace system_calls {

int open(const std::filesystem::path& path, int how);
int open_folder(const std::filesystem::path& path);
ssize_t write(int descriptor, const std::filesystem::path& path, const std::byte* bytes,
              std::size_t count);
ssize_t write_at(int descriptor, const std::filesystem::path& path, const std::byte* bytes,
                 std::size_t count, off_t offset);
int sync(int descriptor, const std::filesystem::path& path);
int close(int descriptor, const std::filesystem::path& path);
int rename(const std::filesystem::path& from, const std::filesystem::path& to);
int make_folder(const std::filesystem::path& path);
int remove(const std::filesystem::path& path);  // a file, a link or an empty folder

}  // namespace system_calls
}  // namespace alibi
