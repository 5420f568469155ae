// kill -9 at any moment loses no committed checkpoint, and the run ends as if nothing had happened
// (R1). Seen failing with save_checkpoint writing into the final folder at once.
//
// The long form makes 1,000 kills.
#include "faults/killed_runs.h"

namespace alibi {
namespace {

using KillsSlow = KilledRuns;

TEST_F(KillsSlow, EndAsTheUninterruptedOne) {
  run_whole();
  const std::int64_t kills = rounds(50, 1000);
  std::int64_t ended = 0, newest = -1, runs = 1, kill = 0, in_training = 0;
  std::int64_t logged_before = -1, lag_before = 0;
  for (std::int64_t start = 0; kill < kills; ++start) {
    if (start % 50 == 49) time_again();  // the machine's speed changes; moments must hit
    const std::string run = cat("killed-", runs);
    const bool background = drawn("background", start) < 0.5;
    RunningProgram program(
        command(run, {cat("run.save_in_background=", background ? "true" : "false")}),
        place_.options());
    ::usleep(static_cast<useconds_t>(1e6 * seconds_ * drawn("moment", start)));
    program.signal(SIGKILL);
    const ProgramResult result = program.wait();
    ASSERT_TRUE(result.code == 0 || result.code == 128 + SIGKILL) << result.err;
    const std::int64_t now = newest_step(run), logged = logged_step(run);
    ASSERT_GE(now, newest) << "a committed checkpoint was lost at kill " << kill;
    // A step is logged after the save of the one before it, or, in the background, two before. Who
    // was killed before his first step leaves the log of the start before.
    const std::int64_t lag = background ? 2 : 1;
    ASSERT_GE(std::max<std::int64_t>(now, 0),
              logged - (logged == logged_before ? std::max(lag, lag_before) : lag))
        << "lost within one start, at kill " << kill;
    if (logged != logged_before) lag_before = lag;
    logged_before = logged;
    newest = now;
    if (result.code != 0) ++kill;
    if (result.code != 0 && logged > 0) ++in_training;
    if (result.code != 0 && kill < kills) continue;
    place_.works(command(run));
    ASSERT_EQ(digest(run), whole_) << run << ", kill " << kill;
    forget(run);
    ++ended;
    ++runs;
    newest = logged_before = -1;
  }
  EXPECT_GT(in_training, kills / 4);
  std::printf(
      "%lld kills, %lld of them of a run with steps; %lld runs ended as the uninterrupted one\n",
      static_cast<long long>(kills), static_cast<long long>(in_training),
      static_cast<long long>(ended));
}

// What a scheduler does: start again until it works.
TEST_F(KillsSlow, ALoopOfRestartsFinishes) {
  run_whole();
  ProgramOptions options = place_.options();
  options.program = "/bin/sh";
  std::string words = ALIBI_BINARY, limits;
  for (const std::string& word : command("looped")) words += " " + word;
  // Starting takes most of a short run's time: each try gets a little more.
  for (const double share : {0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.2, 1.5, 2.0, 4.0})
    limits += fixed(share * seconds_, 2) + " ";
  const ProgramResult loop =
      run_program({"-c", cat("for limit in ", limits, "; do timeout -s KILL $limit ", words,
                             " && exit 0; done; exit 1")},
                  options);
  EXPECT_EQ(loop.code, 0) << loop.err;
  EXPECT_EQ(digest("looped"), whole_);
}

}  // namespace
}  // namespace alibi
