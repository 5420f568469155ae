#include "data/make_prepared.h"

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

fs::path lock_of(const fs::path& folder) { return name_beside(folder, "lock"); }

// Waits while another process holds the lock.
FileLock wait_for_lock(const fs::path& path, const PrepareProgress& progress) {
  bool noted = false;
  while (true) {
    try {
      return FileLock(path, "this prepared text");
    } catch (const LockHeld&) {
    } catch (const Error&) {
      if (fs::exists(path.parent_path())) throw;
      make_folders(path.parent_path());  // the other process failed and took its folders with it
    }
    if (!std::exchange(noted, true))
      progress.say("waiting for another process that prepares the same text");
    leave_if_stopped("prepare");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

// Nothing where it is damaged: its text is there to make it again.
std::optional<PreparedText> open_sound(const fs::path& folder, const PrepareProgress& progress) {
  if (!is_prepared(folder)) return std::nullopt;
  try {
    return open_prepared(folder);
  } catch (const Error& error) {
    progress.say(
        cat("prepared text in the cache cannot be opened and is made again: ", error.what()));
    return std::nullopt;
  }
}

// Call with the lock held: what an earlier, killed process left is removed first. A folder that is
// replaced stays until its text is whole again beside it: what kept it from being opened may be no
// damage (too many open files), and may keep another from being made. The lock's file goes once the
// folder is there, or cannot be: whoever still waits for it looks for the folder next.
PreparedText make(const fs::path& folder, const FillFolder& fill, bool replaces) {
  std::error_code ignored;
  try {
    StagedPath(folder, name_beside(folder, "tmp")).make([&](const fs::path& path) {
      remove_tree(path);
      make_folders(path);
      fill(path);
      sync_folder(path);
      if (replaces) remove_tree(folder);
    });
  } catch (...) {
    fs::remove(lock_of(folder), ignored);
    throw;
  }
  fs::remove(lock_of(folder), ignored);
  PreparedText prepared = open_prepared(folder);
  prepared.from_cache = false;
  return prepared;
}

}  // namespace

PreparedText open_or_make(const fs::path& folder, const FillFolder& fill,
                          const PrepareProgress& progress) {
  if (auto sound = open_sound(folder, progress)) return *sound;
  const FoldersAbove above(folder);
  const FileLock lock = wait_for_lock(lock_of(folder), progress);
  if (auto sound = open_sound(folder, {})) {  // the other process made it
    std::error_code ignored;
    fs::remove(lock_of(folder), ignored);
    return *sound;
  }
  return make(folder, fill, true);
}

PreparedText make_prepared(const fs::path& folder, const FillFolder& fill) {
  const FoldersAbove above(folder);
  const FileLock lock(lock_of(folder), folder.string());
  return make(folder, fill, false);
}

}  // namespace alibi
