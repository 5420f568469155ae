// Masks made by LibTorch's operators, as on a device, against those of base/random.h.
#include "model/dropout_mask.h"

#include <gtest/gtest.h>

#include "device/libtorch.h"

namespace alibi {
namespace {

TEST(DropoutMask, OperatorsDrawTheNumbersOfBaseRandom) {
  const RandomKey key = RandomKey{7}.with("mask");
  const torch::Tensor rows_N =
      torch::tensor(std::vector<std::int64_t>{0, 1, 2, 31, (1LL << 32) - 1, 1LL << 32, 1LL << 40});
  for (const std::int64_t width : {1, 3, 4, 17, 64}) {
    for (const double p : {0.0, 0.1, 0.75}) {
      const torch::Tensor found = dropout_mask_by_operators(key, rows_N, width, p);
      for (std::int64_t n = 0; n < rows_N.numel(); ++n) {
        torch::Tensor row = torch::empty({width});
        fill_dropout(key, static_cast<std::uint64_t>(rows_N[n].item<std::int64_t>()), p,
                     {row.data_ptr<float>(), static_cast<std::size_t>(width)});
        EXPECT_TRUE(torch::equal(found[n], row)) << width << " " << p << " row " << n;
      }
      EXPECT_TRUE(torch::equal(found, dropout_mask(key, rows_N, width, p)));
    }
  }
}

}  // namespace
}  // namespace alibi
