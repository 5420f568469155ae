// configs/reproduce/against-pytorch runs to its end and writes its page; and its PyTorch twin,
// given the program's weights, finds the loss that the program finds, so that both races end at one
// line.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

const std::string kSteps = ALIBI_SOURCE_DIR "/configs/reproduce/against-pytorch/";

// In the source folder, whose configs name files by it; what it keeps goes into `folder`.
ProgramResult run_here(const TemporaryFolder& folder, std::vector<std::string> command) {
  ProgramOptions options;
  options.folder = folder.path();
  options.program = "/bin/sh";
  command.insert(command.begin(), {"-c", "cd \"$0\" && exec \"$@\"", ALIBI_SOURCE_DIR});
  return run_program(command, options);
}

TEST(AgainstPytorchInterop, RunsToItsPageAndBothMeasureOneLoss) {
  const char* const twin = std::getenv("ALIBI_VERIFY_PYTHON");
  if (twin == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
  const TemporaryFolder folder;
  if (!std::filesystem::exists(ALIBI_SOURCE_DIR "/data/default/valid.jsonl"))
    GTEST_SKIP() << "no default corpus (scripts/default-corpus)";
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  const ProgramResult race =
      run_here(folder, {"/usr/bin/python3", kSteps + "race.py", tested_program(),
                        folder.path().string(), "128", "0", "--trial"});
  ASSERT_EQ(race.code, 0) << race.err;
  const std::string page = read_file(path("README.md"));
  for (const char* name : {"| PyTorch, AdamW |", "| PyTorch, Muon |", "| alibi |"})
    EXPECT_NE(page.find(name), std::string::npos) << page;

  const ProgramResult measured = run_here(
      folder, {twin, kSteps + "train_twin.py", path("work/text-report"), "--length", "128",
               "--weights", path("work/run/checkpoints/step-00000001/weights.safetensors")});
  ASSERT_EQ(measured.code, 0) << measured.err;
  const auto curve = nlohmann::json::parse(read_file(path("work/curve/curve.json")));
  const double ours = curve["curves"][0]["points"][0]["loss"];
  EXPECT_NEAR(nlohmann::json::parse(measured.out)["loss"].get<double>(), ours, 2e-3);
}

}  // namespace
}  // namespace alibi
