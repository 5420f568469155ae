// Saves that fail or are killed: the former checkpoint stays, no half one is taken for whole. Seen
// failing with checkpoints written under their final name at once, with leftovers of killed
// processes kept, with the save before removed instead of renamed, with a step discarded in place,
// and with errors that do not name the path.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/files.h"
#include "checkpoint/example.h"
#include "checkpoint/folders.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {
namespace fs = std::filesystem;

// The message of the Error that `action` throws in a child process, where limits can be set.
std::string error_in_child(const std::function<void()>& action) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string error = "no Error, but another exception";
    try {
      error = error_of(action);
    } catch (...) {
    }
    const bool sent = ::write(ends[1], error.data(), error.size()) >= 0;
    ::_exit(sent ? 0 : 3);
  }
  ::close(ends[1]);
  char buffer[4096];
  const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

std::ptrdiff_t entries_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

// The child saves step after step, over and over the last ones, and says after each that it is
// committed. Whatever it said must be there after the kill.
TEST(FolderFaults, AKillAtAnyMomentLosesNoCommittedCheckpoint) {
  const TemporaryFolder folder;
  for (unsigned round = 0; round < 30; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      for (std::int64_t step = 1;; ++step) {
        save_checkpoint(folder.path(), example_checkpoint(step));
        rotate_checkpoints(folder.path(), {2, {0}});
        if (::write(ends[1], &step, sizeof step) != sizeof step) ::_exit(3);
        if (step % 3 == 0) save_checkpoint(folder.path(), example_checkpoint(step));
      }
    }
    ::close(ends[1]);
    // At a moment of the fourth turn or a later one: rotation and the replacement of a step are
    // reached by then.
    std::int64_t committed = 0;
    while (committed < 3 && ::read(ends[0], &committed, sizeof committed) == sizeof committed) {
    }
    ::usleep(7'919 * round % 100'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(ends[0], &committed, sizeof committed) == sizeof committed) {
    }
    ::close(ends[0]);
    std::vector<std::string> skipped;
    const auto newest = newest_valid_checkpoint(folder.path(), &skipped);
    EXPECT_TRUE(skipped.empty()) << skipped.front();
    for (const StepFolder& step : step_folders(folder.path()))
      EXPECT_TRUE(checkpoint_faults(step.path).empty()) << step.path;
    ASSERT_EQ(newest.has_value(), committed > 0 || !step_folders(folder.path()).empty());
    if (!newest) continue;
    const Checkpoint read = load_checkpoint(*newest, Load::kAll);
    EXPECT_GE(read.progress.step, committed);
    EXPECT_TRUE(same_checkpoint(read, example_checkpoint(read.progress.step)));
    for (const StepFolder& step : step_folders(folder.path())) remove_tree(step.path);
  }
  save_checkpoint(folder.path(), example_checkpoint(1));
  EXPECT_EQ(entries_in(folder.path()), 1) << "what the killed processes left is gone";
}

TEST(FolderFaults, AnUnwritableFolderIsOneLine) {
  const TemporaryFolder folder;
  const fs::path former = save_checkpoint(folder.path() / "run", example_checkpoint(1));
  fs::permissions(folder.path(),
                  fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  const auto error_of_save = [](const fs::path& into) {
    return error_in_child([&] {
      // Root may write everywhere; "nobody" may not.
      if (::geteuid() == 0) ensure(::seteuid(65534) == 0, "root may become nobody");
      save_checkpoint(into, example_checkpoint(2));
    });
  };
  fs::permissions(folder.path() / "run", fs::perms::owner_read | fs::perms::owner_exec |
                                             fs::perms::others_read | fs::perms::others_exec);
  for (const fs::path& into : {folder.path() / "run", folder.path() / "run" / "new"}) {
    const std::string error = error_of_save(into);
    EXPECT_NAMES(error, (folder.path() / "run").string(), std::strerror(EACCES));
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  EXPECT_TRUE(checkpoint_faults(former).empty());
  fs::permissions(folder.path() / "run", fs::perms::owner_all);
}

TEST(FolderFaults, AFileWhereTheFolderShouldBeIsOneLine) {
  const TemporaryFolder folder;
  write_file_atomic(folder.path() / "checkpoints", "");
  const std::string error =
      error_of([&] { save_checkpoint(folder.path() / "checkpoints", example_checkpoint(2)); });
  EXPECT_NAMES(error, (folder.path() / "checkpoints").string());
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

}  // namespace
}  // namespace alibi
