// Under torchrun the same command, killed at several moments and started again by it, ends as the
// uninterrupted run. Needs scripts/setup --verify.
#include <cstdlib>
#include <fstream>

#include "faults/killed_runs.h"

namespace alibi {
namespace {

using LaunchersInterop = KilledRuns;

// Children of a process, by whichever of its threads they were started.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& thread :
       std::filesystem::directory_iterator(cat("/proc/", parent, "/task"), gone)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) found.push_back(child);
  }
  return found;
}

TEST_F(LaunchersInterop, TorchrunFinishesARunThatIsKilled) {
  const char* python = std::getenv("ALIBI_VERIFY_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
  run_whole();
  ProgramOptions options = place_.options();
  options.program = std::filesystem::path(python).parent_path() / "torchrun";
  std::vector<std::string> words = {"--no-python", "--nproc-per-node=1", "--max-restarts=5",
                                    "--monitor-interval=0.1", ALIBI_BINARY};
  for (const std::string& word : command("launched")) words.push_back(word);
  RunningProgram launcher(words, options);
  std::int64_t kills = 0;
  for (const std::int64_t step : {5, 20, 35}) {
    const double end = seconds_now() + 60;
    while (logged_step("launched") < step && seconds_now() < end) ::usleep(5'000);
    for (const pid_t child : children_of(launcher.id())) kills += ::kill(child, SIGKILL) == 0;
    ASSERT_LT(logged_step("launched"), 50) << "the run ended before it was killed";
  }
  EXPECT_EQ(kills, 3);
  const ProgramResult result = launcher.wait();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(digest("launched"), whole_);
}

}  // namespace
}  // namespace alibi
