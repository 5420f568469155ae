// A save that is killed or refused at any of its system calls. Seen failing: the kill test with
// the content written under its final name at once; the errors with write_content's Error caught
// and dropped; the order of syncs with write_synced's sync() left out.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/example.h"
#include "checkpoint/folders.h"
#include "faults/system_call_counter.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {
namespace fs = std::filesystem;

// What is watched: step 3 is saved beside 1 and 2, then 1 is rotated out, then 3 is saved again.
void save_and_rotate(const fs::path& folder) {
  save_checkpoint(folder, example_checkpoint(3));
  rotate_checkpoints(folder, {2, {}});
  save_checkpoint(folder, example_checkpoint(3));
}

void save_former(const fs::path& folder) {
  for (const std::int64_t step : {1, 2}) save_checkpoint(folder, example_checkpoint(step));
}

// The newest checkpoint is whole, is what was saved under its step, and is no older than step 2.
void expect_old_or_new(const fs::path& folder, const std::string& when) {
  std::vector<std::string> skipped;
  const auto newest = newest_valid_checkpoint(folder, &skipped);
  ASSERT_TRUE(newest.has_value()) << when;
  EXPECT_TRUE(skipped.empty()) << when << ": " << skipped.front();
  const Checkpoint read = load_checkpoint(*newest, Load::kAll);
  EXPECT_GE(read.progress.step, 2) << when;
  EXPECT_TRUE(same_checkpoint(read, example_checkpoint(read.progress.step))) << when;
}

std::int64_t calls_of_a_save() {
  const TemporaryFolder folder;
  save_former(folder.path());
  const SystemCallCounter counter;
  save_and_rotate(folder.path());
  return counter.count();
}

TEST(SaveFaults, AKillBeforeAnySystemCallLeavesTheOldOrTheNew) {
  const std::int64_t calls = calls_of_a_save();
  ASSERT_GT(calls, 50);
  RecordProperty("system_calls", static_cast<int>(calls));
  for (std::int64_t at = 1; at <= calls; ++at) {
    const TemporaryFolder folder;
    save_former(folder.path());
    const pid_t child = ::fork();
    if (child == 0) {
      const SystemCallCounter counter({.kill_before = at});
      save_and_rotate(folder.path());
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << at;
    const std::string when = cat("killed before call ", at, " of ", calls);
    expect_old_or_new(folder.path(), when);
    // The next save works, and takes away what the dead one left.
    save_checkpoint(folder.path(), example_checkpoint(4));
    rotate_checkpoints(folder.path(), {1, {}});
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << when;
  }
}

struct Fault {
  int error;
  bool for_good;
};

// Interrupted calls are made again; fsync is the one that never is.
bool may_succeed(const Fault& fault, SystemCall call) {
  return fault.error == EINTR && !fault.for_good && call != SystemCall::kSync;
}

void expect_one_line(const std::string& error, const std::string& path, int number,
                     const std::string& when) {
  EXPECT_NAMES(error, path, std::strerror(number)) << when;
  EXPECT_EQ(error.find('\n'), std::string::npos) << when << ": " << error;
}

void expect_survived(const Fault& fault, std::int64_t at) {
  const TemporaryFolder folder;
  save_former(folder.path());
  std::string error;
  SeenCall failed{};
  {
    const SystemCallCounter counter(
        {.fail_at = at, .for_good = fault.for_good, .error = fault.error});
    error = error_of([&] { save_and_rotate(folder.path()); });
    failed = counter.seen().at(static_cast<std::size_t>(at - 1));
  }
  const std::string when = cat(std::strerror(fault.error), fault.for_good ? " from" : " at",
                               " call ", at, ", ", name_of(failed.call), " ", failed.path);
  if (may_succeed(fault, failed.call)) {
    EXPECT_EQ(error, "") << when;
  } else if (!error.empty()) {
    expect_one_line(error, failed.path, fault.error, when);
  } else {
    ADD_FAILURE() << when << ": nothing was said";
  }
  expect_old_or_new(folder.path(), when);
}

TEST(SaveFaults, ARefusedSystemCallIsOneLineAndLosesNothing) {
  const std::int64_t calls = calls_of_a_save();
  for (const int error : {ENOSPC, EIO, EDQUOT, EINTR, EROFS}) {
    for (std::int64_t at = 1; at <= calls; ++at) {
      expect_survived({error, false}, at);
      // A call that is interrupted for ever is made for ever.
      if (error != EINTR) expect_survived({error, true}, at);
    }
  }
}

// After a failed fsync the kernel may have dropped the pages: a second one would tell a lie.
TEST(SaveFaults, AFailedFsyncIsNotTriedAgain) {
  const TemporaryFolder folder;
  save_former(folder.path());
  std::set<std::string> failed;
  set_system_call_hook([&](SystemCall call, const fs::path& path) {
    if (call != SystemCall::kSync || fs::is_directory(path)) return 0;
    EXPECT_TRUE(failed.insert(path.string()).second) << path << " was synced twice";
    return EIO;
  });
  const std::string error =
      error_of([&] { save_checkpoint(folder.path(), example_checkpoint(3)); });
  set_system_call_hook({});
  EXPECT_EQ(failed.size(), 1U);
  EXPECT_NAMES(error, *failed.begin(), "fsync", std::strerror(EIO));
}

// Power may fail at any moment: every byte is on the disk before the name that promises it, and the
// name before the save returns.
TEST(SaveFaults, EveryFileIsSyncedBeforeItsFolderIsNamed) {
  const TemporaryFolder folder;
  const SystemCallCounter counter;
  const fs::path saved = save_checkpoint(folder.path() / "checkpoints", example_checkpoint(1));
  std::set<std::string> unsynced;
  bool named = false, name_synced = false;
  std::int64_t syncs = 0;
  for (const auto& [call, path] : counter.seen()) {
    if (call == SystemCall::kWrite) unsynced.insert(path);
    if (call == SystemCall::kSync) {
      ++syncs;
      unsynced.erase(path);
      name_synced = name_synced || (named && path == saved.parent_path().string());
    }
    if (call == SystemCall::kRename && path == saved.string()) {
      EXPECT_TRUE(unsynced.empty()) << *unsynced.begin() << " is named before it is synced";
      named = true;
    }
  }
  EXPECT_TRUE(named);
  EXPECT_TRUE(name_synced);
  // Six files, the folder, its name, that of the folder aside, and that of the folder of
  // checkpoints.
  EXPECT_EQ(syncs, 10);
}

// In a child, where a limit can be set: every length that a file may be cut to.
TEST(SaveFaults, ADiskFullAtEveryByteKeepsTheFormerCheckpoint) {
  const TemporaryFolder folder;
  const fs::path former = save_checkpoint(folder.path(), example_checkpoint(1));
  std::uint64_t largest = 0;
  for (const auto& entry : fs::directory_iterator(former))
    largest = std::max<std::uint64_t>(largest, entry.file_size());
  for (std::uint64_t limit = 0; limit < largest; ++limit) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit bytes{limit, limit};
      if (::setrlimit(RLIMIT_FSIZE, &bytes) != 0) ::_exit(2);
      const std::string error =
          error_of([&] { save_checkpoint(folder.path(), example_checkpoint(2)); });
      const bool is_named =
          has_word(error, std::strerror(EFBIG)) && error.find('\n') == std::string::npos;
      ::_exit(is_named ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << limit;
    ASSERT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << limit;
  }
  EXPECT_TRUE(same_checkpoint(load_checkpoint(folder.path(), Load::kAll), example_checkpoint(1)));
}

}  // namespace
}  // namespace alibi
