// Element types of GGUF: what rounding each does, and the blocks of Q8_0 by hand.
#include "convert/quantize.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

namespace alibi {
namespace {

torch::Tensor there_and_back(const torch::Tensor& x, GgufElement element) {
  const std::vector<std::byte> bytes = quantized(x, element);
  return dequantized({"x", x.sizes().vec(), element, bytes});
}

TEST(Quantize, RoundsAsTheTypeSays) {
  torch::manual_seed(1);
  const torch::Tensor x = torch::randn({7, 64});
  EXPECT_TRUE(torch::equal(there_and_back(x, GgufElement::kF32), x));
  EXPECT_TRUE(
      torch::equal(there_and_back(x, GgufElement::kF16), x.to(torch::kHalf).to(torch::kFloat)));
  EXPECT_TRUE(torch::equal(there_and_back(x, GgufElement::kBf16),
                           x.to(torch::kBFloat16).to(torch::kFloat)));
  // Half a step of each block's largest value by 127, and what fp16 makes of the step.
  const torch::Tensor step = x.view({-1, 32}).abs().amax(1, true) / 127;
  const torch::Tensor error = (there_and_back(x, GgufElement::kQ8) - x).view({-1, 32}).abs() / step;
  EXPECT_LE(error.max().item<double>(), 0.5 + 127 * 0.0005);
}

TEST(Quantize, BlocksAreAScaleAndThirtyTwoSteps) {
  torch::Tensor x = torch::zeros({1, 32});
  x[0][0] = 127;
  x[0][1] = -63.4;
  x[0][2] = 0.5;
  const std::vector<std::byte> bytes = quantized(x, GgufElement::kQ8);
  ASSERT_EQ(bytes.size(), 34U);
  EXPECT_EQ(bytes[0], std::byte{0x00});  // 1.0 in fp16 is 0x3C00
  EXPECT_EQ(bytes[1], std::byte{0x3C});
  EXPECT_EQ(bytes[2], std::byte{127});
  EXPECT_EQ(static_cast<std::int8_t>(bytes[3]), -63);
  EXPECT_EQ(static_cast<std::int8_t>(bytes[4]), 1) << "halves go away from 0";
  EXPECT_TRUE(
      torch::equal(there_and_back(torch::zeros({2, 32}), GgufElement::kQ8), torch::zeros({2, 32})));
}

}  // namespace
}  // namespace alibi
