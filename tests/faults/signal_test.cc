// TERM, INT, USR1 and HUP at random moments (R7): the finished step is saved, the exit code says
// which signal, and the resumed run is the uninterrupted one. A second signal leaves at once. Seen
// failing with the save after the loop left out of Trainer::run, with another exit code, and with
// TERM left to its default.
//
// The long form sends 200 signals.
#include "faults/killed_runs.h"
#include "support/error_text.h"

namespace alibi {
namespace {

using SignalsSlow = KilledRuns;

TEST_F(SignalsSlow, SaveTheFinishedStep) {
  // No save is due before the end: what is there was saved for the signal.
  const std::vector<std::string> late = {"run.save_every_tokens=12800",
                                         "run.evaluate_every_tokens=6400"};
  run_whole(late);
  const std::int64_t sent = rounds(16, 200);
  std::int64_t in_training = 0;
  // Of sixteen signals four come at any moment, the others once steps are logged. In the long form
  // as many as are sent must hit the training itself.
  const std::int64_t hits = is_long_form() ? sent : 1;
  std::int64_t round = 0;
  for (; round < sent || (in_training < hits && round < 3 * sent); ++round) {
    const int number = std::array{SIGTERM, SIGINT, SIGUSR1, SIGHUP}[round % 4];
    const std::string run = cat("stopped-", round);
    const auto words = command(run, late);
    RunningProgram program(words, place_.options());
    if (round / 4 % 4 != 0) wait_for_a_step(run);
    const double most = round / 4 % 4 != 0 ? 0.3 * seconds_ : seconds_;
    ::usleep(static_cast<useconds_t>(1e6 * most * drawn("phase", round)));
    program.signal(number);
    const ProgramResult stopped = program.wait();
    EXPECT_TRUE(stopped.code == 128 + number || stopped.code == 0) << stopped.err;
    const bool too_early = !place_.has("runs/" + run + "/log.jsonl");  // LibTorch still loads
    EXPECT_TRUE(!stopped.killed || too_early) << "signal " << number << " was not handled";
    if (round % 8 == 7 && in_training < round / 8) time_again(late);  // slower than before
    if (has_word(stopped.err, "--resume")) {
      ++in_training;
      EXPECT_EQ(newest_step(run), logged_step(run)) << run;
    }
    place_.works(words);
    EXPECT_EQ(digest(run), whole_) << run;
    forget(run);
  }
  EXPECT_GE(in_training, hits);
  std::printf("%lld signals, %lld of them while it trained\n", static_cast<long long>(round),
              static_cast<long long>(in_training));
}

// A step of minutes is not waited for: the second signal ends it.
TEST_F(SignalsSlow, ASecondOneLeavesAtOnce) {
  RunningProgram program({"train", "tiny.json", "--set", "model.width=512", "--set",
                          "model.layers=8", "--set", "batch.sequence_length=512", "--set",
                          "batch.sequences=512", "--set", "run.train_tokens=10000000"},
                         place_.options());
  ASSERT_TRUE(program.wait_for_output("estimated"));
  ::usleep(500'000);
  program.signal(SIGTERM);
  ::usleep(300'000);
  const double second = seconds_now();
  program.signal(SIGINT);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.code, 128 + SIGINT) << stopped.err;
  EXPECT_LT(seconds_now() - second, 2);
}

}  // namespace
}  // namespace alibi
