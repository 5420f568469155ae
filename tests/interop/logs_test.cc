// What TensorBoard reads of a run is what its log says, also after a resume (X4). Needs
// scripts/setup --verify.
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/strings.h"
#include "commands/cli_fixture.h"
#include "report/records/run_log.h"

namespace alibi {
namespace {

using Figures = std::map<std::pair<std::string, std::int64_t>, double>;

struct Lines {
  Figures figures;
  std::size_t count = 0;
};

// Each a name, a step and a value.
Lines read_lines(std::istream& in) {
  Lines lines;
  std::string name;
  std::int64_t step = 0;
  double value = 0;
  for (; in >> name >> step >> value; ++lines.count) lines.figures[{name, step}] = value;
  return lines;
}

Figures told_to_tensorboard(const CliFixture& place, const std::string& python) {
  const std::string command = cat("cd '", place.path().string(), "' && '", python, "' '",
                                  ALIBI_SOURCE_DIR, "/tests/interop/logs.py' runs/tiny > told.txt");
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::istringstream told(place.read("told.txt"));
  const Lines lines = read_lines(told);
  EXPECT_EQ(lines.count, lines.figures.size()) << "told twice";
  return lines.figures;
}

void expect_the_log(const CliFixture& place, const std::string& python) {
  const RunLog log = parse_run_log(place.read("runs/tiny/log.jsonl"));
  const Figures told = told_to_tensorboard(place, python);
  std::size_t expected = 0;
  for (const StepRecord& step : log.steps) {
    ASSERT_TRUE(told.contains({"train/loss", step.step})) << step.step;
    EXPECT_NEAR(told.at({"train/loss", step.step}), step.loss, 1e-5);
    EXPECT_NEAR(told.at({"train/learning_rate", step.step}), step.learning_rate, 1e-8);
    expected += 4;
  }
  for (const ValidationRecord& validation : log.validations) {
    ASSERT_TRUE(told.contains({"valid/loss", validation.step}));
    EXPECT_NEAR(told.at({"valid/loss", validation.step}), validation.validation_loss, 1e-5);
    expected += 3;
  }
  EXPECT_EQ(told.size(), expected);
}

TEST(LogsInterop, TensorBoardReadsWhatTheLogSays) {
  const char* python = std::getenv("ALIBI_VERIFY_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
  const CliFixture place;
  RunningProgram program(
      {"train", "tiny.json", "--set", "run.train_tokens=400000", "--set", "schedule.kind=constant"},
      place.options());
  ASSERT_TRUE(program.wait_for_output("  validation loss "));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 128 + SIGTERM);
  expect_the_log(place, python);
  const auto steps = parse_run_log(place.read("runs/tiny/log.jsonl")).steps;
  ASSERT_FALSE(steps.empty());
  place.works({"train", "tiny.json", "--resume", "--set", "schedule.kind=constant", "--set",
               cat("run.train_tokens=", steps.back().tokens + 5120)});
  expect_the_log(place, python);
  EXPECT_EQ(place.read("runs/tiny/report.html").find("http-equiv"), std::string::npos)
      << "it has ended";
}

// A stand-in for the package that prints what it is given; the real one (0.31.0) was tried by hand.
constexpr const char* kStandIn = R"(
class Run:
    def __enter__(self):
        return self
    def __exit__(self, *_):
        return False
    def log(self, values, step):
        for name, value in values.items():
            print(name, step, repr(float(value)))
def init(project, name, config):
    print(project, config["run"]["seed"], name)
    return Run()
)";

// Seen failing with lines that were sent without their step.
TEST(LogsInterop, WeightsAndBiasesIsSentWhatTheLogSays) {
  const char* python = std::getenv("ALIBI_VERIFY_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.put("wandb.py", kStandIn);
  const std::string command =
      cat("cd '", place.path().string(), "' && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=. '", python,
          "' '", ALIBI_SOURCE_DIR, "/scripts/send-to-wandb' runs/tiny mine > sent.txt");
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::istringstream sent(place.read("sent.txt"));
  std::string started;
  std::getline(sent, started);
  EXPECT_EQ(started, "mine 0 tiny");
  const Figures figures = read_lines(sent).figures;
  const RunLog log = parse_run_log(place.read("runs/tiny/log.jsonl"));
  ASSERT_FALSE(log.steps.empty() || log.validations.empty());
  for (const StepRecord& step : log.steps) {
    ASSERT_TRUE(figures.contains({"loss", step.step})) << step.step;
    EXPECT_NEAR(figures.at({"loss", step.step}), step.loss, 1e-9);
  }
  for (const ValidationRecord& validation : log.validations)
    EXPECT_TRUE(figures.contains({"validation_loss", validation.step})) << validation.step;
}

}  // namespace
}  // namespace alibi
