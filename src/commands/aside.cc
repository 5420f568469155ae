#include "commands/aside.h"

#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;

void refuse_existing(const fs::path& target) {
  std::error_code ignored;
  if (fs::exists(target, ignored))
    throw usage_error(target.string(), "exists already", "remove it, or name another --output");
}

void write_aside(const fs::path& target, const std::function<void(const fs::path&)>& write) {
  make_folders(fs::absolute(target).parent_path());
  const fs::path aside =
      target.parent_path() / cat(".tmp-", ::getpid(), "-", target.filename().string());
  try {
    remove_tree(aside);
    write(aside);
    rename_durably(aside, target);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    throw;
  }
}

}  // namespace alibi
