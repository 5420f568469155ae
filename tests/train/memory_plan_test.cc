// The estimate of a run's memory: its parts, the micro batch that fits, and (slowly) real runs.
#include "train/memory_plan.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace alibi {
namespace {

Config config(const std::vector<std::string>& overrides) { return load_config({}, overrides); }

TEST(MemoryPlan, CountsWeightsFromTheirShapes) {
  const Config c = config({"model.layers=2", "model.width=64", "model.heads=4",
                           "tokenizer.kind=bytes", "runtime.precision=bf16"});
  const std::int64_t parameters = 259 * 64 + 2 * (12 * 64 * 64 + 2 * 64) + 64;
  const MemoryParts parts = estimate_memory(c, 259, 4096);
  EXPECT_EQ(parts.weights, 4 * parameters);
  EXPECT_EQ(parts.gradients, 4 * parameters);
  EXPECT_EQ(parts.moments, 8 * parameters);
  EXPECT_EQ(parts.saving, 12 * parameters);
  EXPECT_EQ(estimate_memory(config({"run.save_in_background=false"}), 259, 4096).saving, 0);
}

TEST(MemoryPlan, ActivationsGrowWithTheMicroBatchAndShrinkWithRecomputation) {
  const Config plain = config({}), again = config({"runtime.recompute=blocks"});
  const auto activations = [](const Config& c, std::int64_t tokens) {
    return estimate_memory(c, 4096, tokens).activations;
  };
  EXPECT_GT(activations(plain, 8192), 1.5 * static_cast<double>(activations(plain, 4096)));
  EXPECT_LT(activations(again, 8192), 0.6 * static_cast<double>(activations(plain, 8192)));
}

TEST(MemoryPlan, TheMicroBatchThatFitsDividesTheStep) {
  const Config c = config({"batch.sequence_length=128", "batch.sequences=12"});
  const auto total = [&](std::int64_t rows) {
    return estimate_memory(c, 4096, rows * 128).total();
  };
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(12)), 12 * 128);
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(12) - 1), 6 * 128);
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(5)), 4 * 128);
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(1)), 128);
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(1) - 1), 0);
}

}  // namespace
}  // namespace alibi
