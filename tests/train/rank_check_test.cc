#include "train/rank_check.h"

#include <gtest/gtest.h>

#include <atomic>

#include "distributed/ranks.h"

namespace alibi {
namespace {

// Seen failing without what is gathered: the second rank stays at auto.
TEST(RankCheck, LinearLayersAreTheFirstRanksChoice) {
  for (const LinearLayers choice :
       {LinearLayers::kLibtorch, LinearLayers::kPacked, LinearLayers::kAuto}) {
    std::atomic<int> measured = 0;
    run_ranks(2, [&](World& world) {
      RuntimeConfig runtime;
      settle_linear_layers_as_first(world, runtime, [&](RuntimeConfig& chosen) {
        ++measured;
        EXPECT_TRUE(world.is_first());
        chosen.linear_layers = choice;
      });
      EXPECT_EQ(runtime.linear_layers, choice) << "rank " << world.rank();
    });
    EXPECT_EQ(measured, 1);
  }
}

}  // namespace
}  // namespace alibi
