#include "experiment/measured.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

TEST(Usage, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "usage.json";
  write_file_atomic(file, usage_json({12.5, 1 << 20}));
  EXPECT_DOUBLE_EQ(read_usage(file).seconds, 12.5);
  EXPECT_EQ(read_usage(file).peak_memory_bytes, 1 << 20);
}

TEST(ReadSteps, TakesTheLastStepAndTheMedianTime) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "log.jsonl";
  write_file_atomic(file,
                    "{\"format_version\":1,\"kind\":\"log\"}\n"
                    "{\"step\":1,\"tokens\":100,\"loss\":3.5,\"seconds\":9.0}\n"
                    "{\"step\":2,\"tokens\":200,\"loss\":3.4,\"seconds\":0.5}\n"
                    "{\"step\":2,\"tokens\":200,\"validation_loss\":3.4,\"best\":true,"
                    "\"peak_memory_bytes\":7000}\n"
                    "{\"step\":3,\"tokens\":300,\"loss\":3.3,\"seconds\":0.5}\n"
                    "{\"step\":4,\"tok");  // being written
  EXPECT_EQ(read_steps(file).tokens, 300);
  EXPECT_EQ(read_trained_tokens(file), 300);
  EXPECT_EQ(read_steps(file).peak_memory_bytes, 7000);
  EXPECT_DOUBLE_EQ(read_steps(file).seconds, 10);
  EXPECT_DOUBLE_EQ(read_steps(file).tokens_per_second, 200);
  write_file_atomic(file, "");
  EXPECT_EQ(read_steps(file).tokens, 0);
  EXPECT_EQ(read_trained_tokens(file), 0);
  EXPECT_TRUE(std::isnan(read_steps(file).tokens_per_second));
}

}  // namespace
}  // namespace alibi
