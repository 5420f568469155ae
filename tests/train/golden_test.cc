// Losses of a small run as they were when this file was written: what changes the arithmetic of a
// step shows here. (They were first written with the tiled kernels and packed layers in place; that
// those compute what PyTorch does is what tests/interop shows.)
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/strings.h"
#include "device/device.h"
#include "train/example.h"

namespace alibi {
namespace {

std::vector<double> losses(const std::string& precision) {
  TrainExample example;
  const Config config =
      example.config("run", {"runtime.precision=" + precision, "initialize.standard_deviation=0.02",
                             "model.width=64", "model.layers=2", "model.learned_slopes=false",
                             "model.embedding_dropout=0", "model.attention_dropout=0",
                             "model.residual_dropout=0", "model.mlp_dropout=0"});
  EXPECT_EQ(example.train(config, false), 0);
  std::vector<double> found;
  for (const StepRecord& event : example.events_of<StepRecord>()) found.push_back(event.loss);
  return found;
}

void expect_golden(const std::string& precision) {
  const std::string file = ALIBI_SOURCE_DIR "/tests/golden/losses.json";
  const nlohmann::json golden = nlohmann::json::parse(read_file(file));
  const auto expected = golden["losses"].get<std::vector<double>>();
  const double tolerance = golden["tolerance"][precision];
  const std::vector<double> found = losses(precision);
  std::string all;  // to write a new file, should the arithmetic change on purpose
  for (const double loss : found) all += cat(all.empty() ? "" : ", ", significant(loss, 9));
  ASSERT_EQ(found.size(), expected.size()) << all;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance) << "step " << i + 1;
}

TEST(GoldenLosses, InFp32) { expect_golden("fp32"); }

TEST(GoldenLosses, InBf16) {
  if (!cpu_has_fast_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  expect_golden("bf16");
}

}  // namespace
}  // namespace alibi
