// The log file beside stderr. Seen failing with a sink that lets a failed write through, with a
// file that is truncated, and with the levels of stderr counting for the file.
#include "base/log.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/files.h"
#include "base/system_calls.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override {
    set_system_call_hook({});
    set_log_level("info");
    open_log_file(folder_.path() / "closed.log");
  }
  std::vector<std::string> lines() const { return split(read_file(path_), '\n'); }
  // What goes to stderr meanwhile.
  static std::string printed(const std::function<void()>& call) {
    testing::internal::CaptureStderr();
    call();
    return testing::internal::GetCapturedStderr();
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "alibi.log";
};

TEST_F(Log, AFileHasEveryLevelWithItsTime) {
  write_file_atomic(path_, "of an earlier start\n");
  const std::string shown = printed([&] {
    open_log_file(path_);
    log_debug("few see this");
    log_info("{} and % stay\n");
    log_warning("look");
    log_error("fault\nin two lines");
  });
  EXPECT_EQ(shown, "{} and % stay\nwarning: look\nfault\nin two lines\n");
  const auto found = lines();
  ASSERT_EQ(found.size(), 7U);
  EXPECT_EQ(found[0], "of an earlier start");
  EXPECT_TRUE(found[1].ends_with("Z debug few see this")) << found[1];
  EXPECT_TRUE(found[2].ends_with("Z info {} and % stay")) << found[2];
  EXPECT_TRUE(found[3].ends_with("Z warning look")) << found[3];
  EXPECT_TRUE(found[4].ends_with("Z error fault")) << found[4];
  EXPECT_TRUE(found[5].ends_with("Z error in two lines")) << found[5];
  EXPECT_EQ(found[4].find('T'), std::string("2026-11-25").size()) << found[4];
  EXPECT_GE(log_file_descriptor(), 0);
}

TEST_F(Log, TheTerminalHasTheLevelsThatItIsAskedFor) {
  open_log_file(path_);
  set_log_level("error");
  EXPECT_EQ(printed([] { log_warning("look"); }), "");
  set_log_level("debug");
  EXPECT_TRUE(printed([] { log_debug("few"); }).ends_with("Z debug few\n"));
  EXPECT_EQ(lines().size(), 3U);
}

TEST_F(Log, AFileThatCannotBeWrittenCostsOneWarning) {
  open_log_file(path_);
  log_info("before");
  set_system_call_hook(
      [](SystemCall call, const auto&) { return call == SystemCall::kWrite ? ENOSPC : 0; });
  const std::string shown = printed([] {
    log_info("first");
    log_info("second");
  });
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 3) << shown;
  EXPECT_NAMES(shown, "warning:", "alibi.log", std::strerror(ENOSPC));
  EXPECT_EQ(log_file_descriptor(), -1);
  set_system_call_hook({});
  log_info("third");
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(Log, AFileThatCannotBeOpenedCostsOneWarning) {
  const std::string shown = printed([&] {
    open_log_file(folder_.path() / "none" / "alibi.log");
    log_info("first");
  });
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 2) << shown;
  EXPECT_NAMES(shown, "warning:", std::strerror(ENOENT));
}

TEST_F(Log, LinesOfSeveralThreadsStayWhole) {
  open_log_file(path_);
  set_log_level("error");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int line = 0; line < 100; ++line) log_info(std::string(200, 'x'));
      });
  }
  const auto found = lines();
  EXPECT_EQ(found.size(), 401U);
  for (std::size_t i = 0; i + 1 < found.size(); ++i)
    EXPECT_TRUE(found[i].ends_with("Z info " + std::string(200, 'x'))) << found[i];
}

}  // namespace
}  // namespace alibi
