// Two runs that must come to the same end.
#pragma once

#include <gtest/gtest.h>

#include "checkpoint/example.h"
#include "train/example.h"

namespace alibi {

// Weights, moments, progress, identity and log, bit for bit.
inline void expect_same_end(const TrainExample& example, const std::string& a, const std::string& b,
                            const std::string& what) {
  const Checkpoint x = example.newest(a), y = example.newest(b);
  EXPECT_TRUE(same_tensors(x.weights, y.weights)) << what;
  EXPECT_TRUE(same_tensors(x.optimizer, y.optimizer)) << what;
  EXPECT_EQ(x.progress, y.progress) << what;
  EXPECT_EQ(x.identity, y.identity) << what;
  EXPECT_EQ(example.log(a), example.log(b)) << what;
}

}  // namespace alibi
