#include "commands/atomic_output.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = ".tmp-";

// What a process that was killed left beside the target, by the number in its name.
void remove_left_over(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  std::vector<fs::path> dead;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string found = entry.path().filename().string();
    if (!found.starts_with(kPrefix) || !found.ends_with("-" + name)) continue;
    const char* end = found.data() + found.size() - name.size() - 1;
    pid_t process = 0;
    const auto read = std::from_chars(found.data() + kPrefix.size(), end, process);
    if (read.ec != std::errc() || read.ptr != end || process <= 0) continue;
    if (::kill(process, 0) != 0 && errno == ESRCH) dead.push_back(entry.path());
  }
  for (const fs::path& path : dead) fs::remove_all(path, ignored);
}

}  // namespace

void refuse_existing(const fs::path& given) {
  const fs::path target = without_slash(given);
  if (is_there(target))
    throw usage_error(target.string(), "exists already", "remove it, or name another --output");
}

void write_atomically(const fs::path& given, const std::function<void(const fs::path&)>& write) {
  const fs::path target = without_slash(given);
  const FoldersAbove above(fs::absolute(target));
  const std::string name = target.filename().string();
  const fs::path path = target.parent_path() / cat(kPrefix, ::getpid(), "-", name);
  StagedPath staged(target, path);
  remove_left_over(fs::absolute(target).parent_path(), name);
  remove_tree(path);
  staged.make(write);
}

}  // namespace alibi
