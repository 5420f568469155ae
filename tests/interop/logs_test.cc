// What TensorBoard reads of a run is what its log says, also after a resume (X4). Needs
// scripts/setup --verify.
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/strings.h"
#include "commands/workplace.h"
#include "report/run_log.h"

namespace alibi {
namespace {

using Figures = std::map<std::pair<std::string, std::int64_t>, double>;

Figures told_to_tensorboard(const Workplace& place, const std::string& python) {
  const std::string command = cat("cd '", place.path().string(), "' && '", python, "' '",
                                  ALIBI_SOURCE_DIR, "/tests/interop/logs.py' runs/tiny > told.txt");
  EXPECT_EQ(std::system(command.c_str()), 0);
  Figures figures;
  std::istringstream told(place.read("told.txt"));
  std::string tag;
  std::int64_t step = 0;
  double value = 0;
  while (told >> tag >> step >> value) figures[{tag, step}] = value;
  return figures;
}

void expect_the_log(const Workplace& place, const std::string& python) {
  const RunLog log = parse_run_log(place.read("runs/tiny/log.jsonl"));
  const Figures told = told_to_tensorboard(place, python);
  std::size_t expected = 0;
  for (const LoggedStep& step : log.steps) {
    ASSERT_TRUE(told.contains({"train/loss", step.step})) << step.step;
    EXPECT_NEAR(told.at({"train/loss", step.step}), step.loss, 1e-5);
    EXPECT_NEAR(told.at({"train/learning_rate", step.step}), step.learning_rate, 1e-8);
    expected += 4;
  }
  for (const LoggedValidation& validation : log.validations) {
    ASSERT_TRUE(told.contains({"valid/loss", validation.step}));
    EXPECT_NEAR(told.at({"valid/loss", validation.step}), validation.loss, 1e-5);
    expected += 3;
  }
  EXPECT_EQ(told.size(), expected);
}

TEST(LogsInterop, TensorBoardReadsWhatTheLogSays) {
  const char* python = std::getenv("ALIBI_VERIFY_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
  const Workplace place;
  RunningProgram program(
      {"train", "tiny.json", "--set", "run.train_tokens=400000", "--set", "schedule.kind=constant"},
      place.options());
  ASSERT_TRUE(program.says("  validation loss "));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 128 + SIGTERM);
  expect_the_log(place, python);
  const auto steps = parse_run_log(place.read("runs/tiny/log.jsonl")).steps;
  ASSERT_FALSE(steps.empty());
  place.works({"train", "tiny.json", "--resume", "--set", "schedule.kind=constant", "--set",
               cat("run.train_tokens=", steps.back().tokens + 5120)});
  expect_the_log(place, python);
  EXPECT_NE(place.read("runs/tiny/report.html").find("not running"), std::string::npos);
}

}  // namespace
}  // namespace alibi
