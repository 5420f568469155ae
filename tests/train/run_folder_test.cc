// The folder of a run: refused when it exists, held by one process, gone when nothing came of it.
#include <gtest/gtest.h>

#include "base/system_calls.h"
#include "config/validate.h"
#include "device/libtorch.h"
#include "support/error_text.h"
#include "train/example.h"
#include "train/resume.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

TEST(RunFolder, ExistingOnesNeedResume) {
  TrainExample example;
  example.train(example.config("run"), false, 1);
  EXPECT_ERROR_AT(error_text([&] { RunFolder(example.config("run"), false); }), example.path("run"),
                  "--resume", "run.name");
  EXPECT_NO_THROW(RunFolder(example.config("run"), true));
}

// Seen failing: the corrected command of a start that a time limit or a kill had ended was refused.
TEST(RunFolder, OneThatHoldsNothingIsNew) {
  TrainExample example;
  fs::create_directories(example.path("run/checkpoints"));
  example.write("run/lock", "");
  example.write("run/alibi.log", "error: the other ranks did not come\n");
  EXPECT_NO_THROW(RunFolder(example.config("run"), false));
  EXPECT_TRUE(fs::exists(example.path("run/alibi.log")));
  example.write("run/notes.txt", "mine");
  EXPECT_ERROR_AT(error_text([&] { RunFolder(example.config("run"), false); }), example.path("run"),
                  "--resume");
}

// Seen failing: its config.json was replaced and its log cut.
TEST(RunFolder, AFolderOfOtherFilesIsNotResumed) {
  TrainExample example;
  fs::create_directory(example.path("mine"));
  example.write("mine/config.json", "{}");
  EXPECT_ERROR_AT(error_text([&] { RunFolder(example.config("mine"), true); }),
                  example.path("mine/config.json"), "run.folder");
  EXPECT_FALSE(fs::exists(example.path("mine/lock")));
}

TEST(RunFolder, IsHeldByOne) {
  TrainExample example;
  const Config config = example.config("run");
  const RunFolder first(config, false);
  EXPECT_THROW(RunFolder(config, true), LockHeld);
  EXPECT_TRUE(fs::exists(first.path()));
}

// Two processes start one run: the other takes the lock just before we do. Seen failing with the
// folder removed by whoever made it.
TEST(RunFolder, OfAnotherIsLeftAloneByWhoComesSecond) {
  TrainExample example;
  const Config config = example.config("run");
  std::unique_ptr<FileLock> other;
  set_system_call_hook([&](SystemCall call, const fs::path& path) {
    if (call == SystemCall::kMakeFolder && path.filename() == "checkpoints")
      other = std::make_unique<FileLock>(path.parent_path() / "lock", "the other");
    return 0;
  });
  EXPECT_THROW(RunFolder(config, false), LockHeld);
  set_system_call_hook({});
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(fs::exists(example.path("run/lock")));
}

TEST(RunFolder, LeavesNothingWhenNothingWasTrained) {
  TrainExample example;
  { const RunFolder folder(example.config("a/b/run"), false); }
  EXPECT_FALSE(fs::exists(example.path("a")));
  fs::create_directory(example.path("a"));
  { const RunFolder folder(example.config("a/b/run"), false); }
  EXPECT_TRUE(fs::exists(example.path("a")));
  EXPECT_FALSE(fs::exists(example.path("a/b")));
  { const RunFolder folder(example.config("a/run/"), false); }
  EXPECT_FALSE(fs::exists(example.path("a/run")));
  // A run that fails while its model is built can be corrected and started again.
  const Config wrong = example.config("run", {"initialize.from=" + example.path("nothing")});
  EXPECT_ERROR_AT(error_text([&] { example.train(wrong, false); }), example.path("nothing"));
  EXPECT_FALSE(fs::exists(example.path("run")));
  EXPECT_EQ(example.train(example.config("run"), false, 1), 2);
}

TEST(RunFolder, StaysWhenItHoldsALogOrWasThere) {
  TrainExample example;
  const auto poison = [](Trainer& trainer) {
    const torch::NoGradGuard guard;
    trainer.model()->parameters()[0].fill_(std::nan(""));
  };
  fs::create_directory(example.path("there"));
  { const RunFolder folder(example.config("there"), true); }
  EXPECT_TRUE(fs::exists(example.path("there")));
  {
    const RunFolder folder(example.config("logged"), false);
    write_file_atomic(folder.log(), "{\"step\":1}\n");
  }
  EXPECT_TRUE(fs::exists(example.path("logged/log.jsonl")));
  EXPECT_ERROR_AT(error_text([&] { example.train(example.config("bad"), false, 0, poison); }),
                  "step 1", "nan");
  EXPECT_FALSE(fs::exists(example.path("bad")));
}

// A run goes on only under the identity that it was started with: whatever changes this hash makes
// every run of earlier versions end here, so kArithmeticRevision or a row's revision is to change
// with it, and the changelog to say so.
TEST(RunFolder, IdentityOfAGivenConfigStaysTheSame) {
  Config config;
  config.run.train_tokens = 1000;
  resolve(config);
  EXPECT_EQ(run_identity(config, "hash of the text"),
            "de36fc6d1676c10464ae0edcf2b11714b9079779d7c9f1e50711107ebdc0cdd9");
}

// A program version is none of what a run is bound to; the revision of the arithmetic is. Seen
// failing without the comparison.
TEST(RunFolder, IsResumedByItsRevisionOfTheArithmeticOnly) {
  TrainExample example;
  const Config config = example.config("run");
  example.train(config, false, 1);
  RunFolder folder(config, true);
  auto stored = folder.resume_point(config);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->progress.arithmetic_revision, kArithmeticRevision);
  stored->progress.arithmetic_revision = kArithmeticRevision + 1;
  save_checkpoint(folder.checkpoints(), *stored);
  const std::string text = error_text([&] { folder.resume_point(config); });
  EXPECT_ERROR_AT(text, checkpoint_path(folder.checkpoints(), 1).string(), kArithmeticRevision + 1,
                  kArithmeticRevision);
}

TEST(RunFolder, KeepsTheFirstAnswerForPrecision) {
  TrainExample example;
  const Config config = example.config("run");
  fs::create_directory(example.path("run"));
  EXPECT_FALSE(stored_config(config.run.folder).has_value());
  example.write("run/config.json", config_json(config));
  EXPECT_EQ(stored_config(config.run.folder)->runtime.precision, Precision::kFp32);
}

// A run goes on as it was begun, on whatever machine. Seen failing without the stored answers.
TEST(RunFolder, KeepsTheFirstAnswersOfTheMachine) {
  TrainExample example;
  example.leave_out("runtime.precision=fp32");
  Config first = example.config("run");
  resolve_machine(first, false, {});
  Config stored = first;  // by another machine
  stored.runtime.precision =
      first.runtime.precision == Precision::kFp32 ? Precision::kBf16 : Precision::kFp32;
  stored.runtime.linear_layers = LinearLayers::kLibtorch;
  stored.batch.lanes = 2;
  fs::create_directory(example.path("run"));
  example.write("run/config.json", config_json(stored));
  Config again = example.config("run");
  resolve_machine(again, true, {});
  EXPECT_EQ(again.runtime.precision, stored.runtime.precision);
  EXPECT_EQ(again.runtime.linear_layers, LinearLayers::kLibtorch);
  EXPECT_EQ(again.batch.lanes, 2);
}

// Seen failing with a missing config.json taken for a run that was never started.
TEST(RunFolder, TheNewestCheckpointStandsInForALostConfig) {
  TrainExample example;
  const Config config = example.config("run");
  example.train(config, false, 3);
  fs::remove(example.path("run/config.json"));  // as the command writes it
  const auto stored = stored_config(config.run.folder);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(config_json(*stored), config_json(config));
}

}  // namespace
}  // namespace alibi
