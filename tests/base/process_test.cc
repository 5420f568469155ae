#include "base/process.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "base/stop.h"
#include "base/strings.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(ChildProcess, KeepsItsOutputAndItsExitCode) {
  const TemporaryFolder folder;
  const auto output = folder.path() / "output.txt";
  for (const int code : {0, 3}) {
    ChildProcess child(shell(cat("echo to out; echo to err >&2; exit ", code)), output);
    ASSERT_TRUE(child.ended(30));
    EXPECT_EQ(child.result().code, code);
    EXPECT_GT(child.result().peak_memory_bytes, 100'000);
  }
  EXPECT_EQ(read_file(output), "to out\nto err\nto out\nto err\n");
}

TEST(ChildProcess, IsToldSignals) {
  const TemporaryFolder folder;
  const auto output = folder.path() / "output.txt";
  ChildProcess caught(shell("trap 'echo told; exit 7' TERM; echo ready; while :; do sleep 0.02; "
                            "done"),
                      output);
  while (read_file(output).empty()) EXPECT_FALSE(caught.ended(0.02));
  caught.signal(SIGTERM);
  ASSERT_TRUE(caught.ended(30));
  EXPECT_EQ(caught.result().code, 7);
  EXPECT_EQ(read_file(output), "ready\ntold\n");
  ChildProcess killed(shell("sleep 60"), output);
  EXPECT_FALSE(killed.ended(0));
  killed.signal(SIGKILL);
  ASSERT_TRUE(killed.ended(30));
  EXPECT_EQ(killed.result().code, 128 + SIGKILL);
}

TEST(ChildProcess, DoesNotOutliveItsOwner) {
  const TemporaryFolder folder;
  const auto output = folder.path() / "output.txt";
  {
    ChildProcess child(shell("echo $$; exec sleep 60"), output);
    while (read_file(output).find('\n') == std::string::npos) EXPECT_FALSE(child.ended(0.02));
  }
  const auto id = static_cast<pid_t>(std::stol(read_file(output)));
  EXPECT_EQ(kill(id, 0), -1);
}

// As some supervisors leave it: the system then forgets how children ended. Seen taken for success.
TEST(ChildProcess, AnEndThatNobodyToldIsNoSuccess) {
  const TemporaryFolder folder;
  std::signal(SIGCHLD, SIG_IGN);
  ChildProcess child(shell("exit 0"), folder.path() / "output.txt");
  EXPECT_TRUE(child.ended(30));
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(child.result().code, kUnknownEnd);
}

TEST(ChildProcessDeathTest, TheProgramIsToldHowItsChildrenEnd) {
  const TemporaryFolder folder;
  const auto run = [&] {
    std::signal(SIGCHLD, SIG_IGN);
    install_stop_handlers();
    ChildProcess child(shell("exit 3"), folder.path() / "output.txt");
    _exit(child.ended(30) ? child.result().code : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(3), "");
}

// Seen failing: the link's target was made elsewhere, and the pipe waited for its reader for ever.
TEST(ChildProcess, PrintsToNoLinkAndNoPipe) {
  const TemporaryFolder folder;
  const auto link = folder.path() / "link", pipe = folder.path() / "pipe";
  std::filesystem::create_symlink(folder.path() / "elsewhere", link);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& output : {link, pipe}) {
    EXPECT_ERROR_AT(error_text([&] { ChildProcess(shell("true"), output); }), output.string(),
                    "a link or a pipe");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "elsewhere"));
}

TEST(ChildProcess, SaysWhenItCannotBeRun) {
  const TemporaryFolder folder;
  EXPECT_ANY_THROW(ChildProcess(shell("true"), folder.path() / "no" / "output.txt"));
  ChildProcess child({(folder.path() / "no program").string()}, folder.path() / "output.txt");
  ASSERT_TRUE(child.ended(30));
  EXPECT_EQ(child.result().code, 127);
}

}  // namespace
}  // namespace alibi
