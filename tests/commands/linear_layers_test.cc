// runtime.linear_layers through the real program: measured once, then kept.
#include <gtest/gtest.h>

#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

#ifdef __x86_64__
bool has_bf16_products() { return __builtin_cpu_supports("avx512bf16"); }
#else
bool has_bf16_products() { return false; }
#endif

std::vector<std::string> train(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"train", "tiny.json",
                                    "--set", "runtime.precision=bf16",
                                    "--set", "model.width=256",
                                    "--set", "batch.sequences=16",
                                    "--set", "batch.sequence_length=64",
                                    "--set", "run.validation_tokens=64"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string stored(const CliFixture& place) {
  return place.json("runs/tiny/config.json")["runtime"]["linear_layers"];
}

TEST(LinearLayersOfARun, AreMeasuredOnceAndKept) {
  if (!has_bf16_products()) GTEST_SKIP() << "no bf16 instructions here";
  const CliFixture place;
  place.works(train({"--set", "batch.sequences=2", "--set", "run.train_tokens=1024"}));
  EXPECT_EQ(stored(place), "auto");  // too little work to choose by
  std::filesystem::remove_all(place.path("runs/tiny"));
  // That the others hold to what the first measures: tests/train/rank_check_test.cc.
  const auto large = [](const char* tokens) {
    return std::vector<std::string>{
        "--set", "batch.sequence_length=1024",     "--set",       "schedule.kind=constant",
        "--set", cat("run.train_tokens=", tokens), "--processes", "2"};
  };
  EXPECT_NAMES(place.works(train(large("16384"))).err, "linear layers:", "ms on packed weights");
  const std::string chosen = stored(place);
  EXPECT_TRUE(chosen == "packed" || chosen == "libtorch") << chosen;
  std::vector<std::string> longer = large("32768");
  longer.push_back("--resume");
  const std::string resumed = place.works(train(longer)).err;
  EXPECT_EQ(resumed.find("ms on packed weights"), std::string::npos) << resumed;
  EXPECT_EQ(stored(place), chosen);
}

TEST(LinearLayersOfARun, AreFollowedByItsResumption) {
  if (!has_bf16_products()) GTEST_SKIP() << "no bf16 instructions here";
  const CliFixture place;
  const std::string constant = "schedule.kind=constant";
  place.works(train({"--set", constant, "--set", "run.train_tokens=1024", "--set",
                     "runtime.linear_layers=libtorch"}));
  const std::vector<std::string> longer = {"--set", constant, "--set", "run.train_tokens=2048",
                                           "--resume"};
  place.works(train(longer));
  EXPECT_EQ(stored(place), "libtorch");
  const std::string log = read_file(place.path("runs/tiny/alibi.log"));
  EXPECT_EQ(log.find("arithmetic:"), std::string::npos) << log;
}

}  // namespace
}  // namespace alibi
