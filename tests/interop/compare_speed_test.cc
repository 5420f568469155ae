// scripts/compare-speed runs to its end and prints every table; its figures are for people.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

TEST(CompareSpeedInterop, PrintsStepsSharesAttentionAndGrowth) {
  if (std::getenv("ALIBI_VERIFY_PYTHON") == nullptr)
    GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
  const TemporaryFolder folder;
  ProgramOptions options;
  options.folder = folder.path();
  setenv("ALIBI_PROGRAM", tested_program().c_str(), 1);
  options.program = ALIBI_SOURCE_DIR "/scripts/compare-speed";
  const ProgramResult result = run_program(
      {"--lengths", "64", "--rounds", "1", "--tokens", "128", "--fp32", "--trial"}, options);
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* words :
       {"| 64 | alibi bf16 |", "| 64 | PyTorch bf16 eager |", "| 64 | PyTorch fp32 eager |",
        "matrix rate", "| attention at length |", "exponent"})
    EXPECT_NE(result.out.find(words), std::string::npos) << words << "\n" << result.out;
}

}  // namespace
}  // namespace alibi
