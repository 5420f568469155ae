// A checkpoint of format 1, kept in tests/golden: whatever changes in the program, it can be read
// and gives the loss it gave when it was made.
#include <gtest/gtest.h>

#include "checkpoint/load_model.h"
#include "evaluate/score.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

fs::path golden() { return fs::path(ALIBI_SOURCE_DIR) / "tests/golden/checkpoint/step-00000200"; }

TEST(Golden, AnOldCheckpointGivesItsLoss) {
  LoadedModel loaded = load_model(golden(), {});
  EXPECT_EQ(loaded.progress.step, 200);
  EXPECT_EQ(loaded.model->parameter_count(), 259 * 8 + 4 * 64 + 2 * 256 + 3 * 8);
  const std::vector<std::int32_t> targets = loaded.tokenizer.encode(
      "a near key counts more than a far one and the slope of a line grows");
  const auto length = static_cast<std::int64_t>(targets.size());
  const std::vector<float> losses =
      score(loaded.model, targets, windows_of(length, 16), ScoringOptions());
  // Between processors sums of fp32 differ in their order only.
  EXPECT_NEAR(mean_of(losses), 1.931267, 1e-4);
}

TEST(Golden, AllOfItCanBeResumed) {
  const Checkpoint checkpoint = load_checkpoint(golden(), Load::kAll);
  EXPECT_EQ(checkpoint.progress.tokens, 51200);
  EXPECT_EQ(checkpoint.optimizer.size(), 2 * checkpoint.weights.size());
  EXPECT_TRUE(checkpoint_faults(golden()).empty());
}

}  // namespace
}  // namespace alibi
