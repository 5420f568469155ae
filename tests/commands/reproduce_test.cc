// scripts/reproduce on a model too small to learn anything: the steps of its scripts run to their
// end and take the keys they are given.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "support/error_text.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

using Json = nlohmann::json;

class ReproduceSlow : public testing::Test {
 protected:
  ReproduceSlow() { setenv("ALIBI_PROGRAM", ALIBI_BINARY, 1); }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::filesystem::path folder() const { return folder_.path(); }

  ProgramResult reproduce(const std::string& name) const {
    ProgramOptions options;
    options.folder = folder_.path();
    options.program = ALIBI_SOURCE_DIR "/scripts/reproduce";
    std::vector<std::string> arguments = {name, "--output", path(name)};
    for (const std::string& set :
         {std::string("model.layers=1"), std::string("model.width=64"),
          std::string("run.train_tokens=16384"), std::string("schedule.warmup_tokens=4096"),
          std::string("run.validation_tokens=4096"),
          std::string("evaluate.lengths=[\"1x\", \"2x\"]"),
          std::string("evaluate.max_tokens=20000"),
          std::string("data.train=[\"data/default/valid.jsonl\"]"),
          std::string("tokenizer.vocabulary=512"), "run.folder=" + path("run")})
      arguments.insert(arguments.end(), {"--set", set});
    return run_program(arguments, options);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ReproduceSlow, OnePassAndLessonTakeTheirKeys) {
  const ProgramResult one_pass = reproduce("one-pass");
  EXPECT_EQ(one_pass.code, 0) << one_pass.err;
  const std::string page = read_file(path("one-pass/README.md"));
  EXPECT_NE(page.find("| 256 |"), std::string::npos) << page;
  EXPECT_EQ(page.find("| 512 |"), std::string::npos) << "two lengths were asked for\n" << page;
  EXPECT_NAMES(page, "2 of 2");

  const ProgramResult lesson = reproduce("lesson");
  EXPECT_EQ(lesson.code, 0) << lesson.err;
  EXPECT_NE(read_file(path("lesson/index.html")).find("measured-text"), std::string::npos);
}

// All models are trained, and the page has what was measured: seed by seed, the table's model at
// its own length alone.
TEST_F(ReproduceSlow, ARetrofitIsMeasuredBesideModelsThatHadBiasesFromTheStart) {
  if (std::system("python3 -c 'import tomllib' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3 lacks tomllib, expected Python 3.11 or newer";
  const std::string steps = ALIBI_SOURCE_DIR "/configs/reproduce/retrofit/";
  ProgramOptions options;
  options.folder = folder();  // of the cache, too; the files that are named stand in the project
  options.program = "/usr/bin/env";
  const std::vector<std::string> python = {"--chdir=" ALIBI_SOURCE_DIR, "python3", "-B"};
  std::vector<std::string> arguments = python;
  arguments.insert(arguments.end(),
                   {steps + "retrofit.py", ALIBI_BINARY, path("work"), path("out")});
  for (const char* set : {"model.layers=1", "run.train_tokens=6144", "schedule.warmup_tokens=3072",
                          "run.validation_tokens=4096", "evaluate.max_tokens=8192"})
    arguments.insert(arguments.end(), {"--set", set});
  std::filesystem::create_directory(path("out"));
  const ProgramResult trained = run_program(arguments, options);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(Json::parse(read_file(path("out/trials.json"))).size(), 3 + 3 + 8);
  for (const char* seed : {"0", "1", "2"}) {
    const Json curves =
        Json::parse(read_file(path(cat("out/seed-", seed, "/curve.json"))))["curves"];
    ASSERT_EQ(curves.size(), 3) << seed;
    EXPECT_TRUE(curves[0]["points"][1]["loss"].is_null()) << "a table has no positions there";
    EXPECT_TRUE(curves[1]["points"][4]["loss"].is_number());
    EXPECT_EQ(curves[1]["points"][4]["length"], 2048);
  }
  arguments = python;
  arguments.insert(arguments.end(), {steps + "page.py", path("out")});
  const ProgramResult page = run_program(arguments, options);
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_NE(page.out.find("| 2,048 | 16x | no positions |"), std::string::npos) << page.out;
}

TEST_F(ReproduceSlow, RefusesWhatIsNoExperiment) {
  for (const char* name : {"nothing", "h200/base"}) {
    const ProgramResult result = reproduce(name);
    EXPECT_EQ(result.code, 2) << name;
    EXPECT_NAMES(result.err, cat("\"", name, "\""), "appendix-b");
  }
}

// Of a program that notes its calls: its second job is killed, and its comparison misses a run.
constexpr const char* kNotes = R"(#!/bin/sh
echo "$*" >>"$(dirname "$0")/calls"
case " $* " in
  *" --jobs "*) for i in 1 2 3 4; do echo "$0 job $i"; done ;;
  *" job 2 "*) kill -9 $$ ;;
  *" --output "*) while [ "$1" != --output ]; do shift; done; mkdir -p "$2"; date >"$2/comparison.json"; exit 1 ;;
esac
)";

// Seen failing with a job that is killed in xargs' own child: the later ones were not begun.
TEST(Reproduce, SeveralAtOnceGoOnWhereOneIsKilled) {
  TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "program";
  write_file_atomic(program, kNotes);
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  setenv("ALIBI_PROGRAM", program.c_str(), 1);
  ProgramOptions options;
  options.folder = folder.path();
  options.program = ALIBI_SOURCE_DIR "/scripts/reproduce";
  const auto reproduce = [&](const char* name, const char* jobs) {
    setenv("JOBS", jobs, 1);
    return run_program({name, "--output", (folder.path() / "page").string()}, options);
  };
  EXPECT_EQ(reproduce("long", "2").code, 1) << "a run is missing";
  const std::string calls = read_file(folder.path() / "calls");
  for (const char* job : {"job 1", "job 2", "job 3", "job 4", "--output"})
    EXPECT_NE(calls.find(job), std::string::npos) << job;
  EXPECT_EQ(reproduce("long", "two").code, 2);
  const ProgramResult timed = reproduce("cost", "2");
  EXPECT_EQ(timed.code, 2);
  EXPECT_NAMES(timed.err, "cost", "JOBS");
  unsetenv("JOBS");
  setenv("ALIBI_PROGRAM", ALIBI_BINARY, 1);
}

}  // namespace
}  // namespace alibi
