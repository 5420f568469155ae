// The device's layer norm over rows, forward and backward, its very source, run on the host against
// the formula in fp64.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/cuda/layer_norm_example.h"

namespace alibi {
namespace {

void expect_formula(NormExample& example, const std::string& what) {
  run_norm(example.forward_work());
  EXPECT_LE(example.worst_forward(), 1) << what;
  run_norm_gradient(example.backward_work());
  EXPECT_LE(example.worst_backward(), 1) << what;
}

// Widths of one chunk, of a few lanes, and around all that each shape of the kernels holds.
TEST(DeviceLayerNorm, IsTheFormulaAtEveryWidth) {
  for (const int width :
       {8, 24, 248, 256, 264, 512, 520, 768, 776, 1024, 1032, 2048, 2056, 4096, 4104, 6152, 8192}) {
    ASSERT_TRUE(device_norm_knows(1, width));
    for (const int rows : {1, 13}) {
      const bool biased = (width / 8 + rows) % 2 == 0, added = (width / 8 + rows) % 4 < 2;
      NormExample example({.rows = rows, .width = width, .biased = biased, .added = added});
      expect_formula(example, cat(rows, " rows of ", width, ", ", biased, added));
    }
  }
  for (const int width : {-8, 0, 4, 12, 8200}) EXPECT_FALSE(device_norm_knows(1, width)) << width;
  EXPECT_FALSE(device_norm_knows(0, 8));
}

TEST(DeviceLayerNorm, TakesBiasesAndTheResidualsGradientOrNone) {
  for (const int width : {24, 1040}) {
    for (const bool biased : {false, true}) {
      for (const bool added : {false, true}) {
        NormExample example({.rows = 9, .width = width, .biased = biased, .added = added});
        expect_formula(example, cat("width ", width, ", ", biased, added));
      }
    }
  }
}

// More rows than all blocks take at once, some blocks with one more than others.
TEST(DeviceLayerNorm, SumsOverManyRows) {
  for (const int width : {24, 1032, 2056}) {
    const int at_once = device_norm_rows_of_block(width);
    NormExample example({.rows = 5 * 3 * at_once + 1, .width = width, .most_parts = 3});
    expect_formula(example, cat("width ", width));
  }
  EXPECT_EQ(device_norm_parts(1, 768), 1);
  EXPECT_EQ(device_norm_parts(9, 768), 2);
  EXPECT_EQ(device_norm_parts(9, 1032), 9);
  EXPECT_EQ(device_norm_parts(1 << 30, 768), 264);
}

// Sums of squares alone would lose the variance.
TEST(DeviceLayerNorm, StaysRightFarFromZero) {
  for (const float offset : {30.0F, -200.0F}) {
    NormExample example({.rows = 9, .width = 776}, offset);
    expect_formula(example, cat("around ", offset));
  }
  NormExample flat({.rows = 2, .width = 64});
  std::fill(flat.x.begin(), flat.x.end(), HostBlock::rounded(3));
  run_norm(flat.forward_work());
  for (int c = 0; c < 64; ++c)
    EXPECT_EQ(flat.y[flat.at(1, c)], HostBlock::rounded(flat.bias[NormExample::index(c)]));
}

TEST(DeviceLayerNorm, KeepsNoStatisticsWhereNoneAreAskedFor) {
  for (const int width : {40, 1032}) {
    NormExample example({.rows = 10, .width = width});
    DeviceNorm work = example.forward_work();
    work.mean_N = work.reciprocal_N = nullptr;
    run_norm(work);
    EXPECT_LE(example.worst_y(), 1);
    EXPECT_EQ(example.mean, std::vector<float>(11, NormExample::kGuardSum));
  }
}

// Threads of the host end in any order.
TEST(DeviceLayerNorm, WritesTheSameBitsTwice) {
  for (const NormSizes& sizes : {NormSizes{.rows = 70, .width = 40, .most_parts = 2},
                                 NormSizes{.rows = 30, .width = 2056, .most_parts = 4}}) {
    NormExample one(sizes), other(sizes);
    for (NormExample* example : {&one, &other}) {
      run_norm(example->forward_work());
      run_norm_gradient(example->backward_work());
    }
    EXPECT_EQ(one.y, other.y);
    EXPECT_EQ(one.mean, other.mean);
    EXPECT_EQ(one.reciprocal, other.reciprocal);
    EXPECT_EQ(one.dx, other.dx);
    EXPECT_EQ(one.sums, other.sums);
  }
}

// What the guard of a step must see; other rows are as without it.
TEST(DeviceLayerNorm, KeepsANaNInItsRow) {
  for (const int width : {24, 1032}) {
    for (const float bad : {NAN, INFINITY}) {
      NormExample example({.rows = 10, .width = width});
      example.x[example.at(4, width - 1)] = HostBlock::rounded(bad);
      run_norm(example.forward_work());
      run_norm_gradient(example.backward_work());
      for (int r = 0; r < 10; ++r) {
        for (const int c : {0, width - 1}) {
          EXPECT_EQ(std::isnan(HostBlock::widened(example.y[example.at(r, c)])), r == 4);
          EXPECT_EQ(std::isnan(HostBlock::widened(example.dx[example.at(r, c)])), r == 4);
        }
      }
      float sum = 0;
      for (int p = 0; p < example.parts(); ++p)
        sum += example.sums[2 * NormExample::index(p) * NormExample::index(width)];
      EXPECT_TRUE(std::isnan(sum));
    }
  }
}

}  // namespace
}  // namespace alibi
