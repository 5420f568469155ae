// The textbook algorithms give what the reference gives, and count the traffic that their analysis
// says. Seen failing with the rescaling of earlier blocks left out.
#include "bench/textbook_attention.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include "bench/cases.h"
#include "model/attention.h"

namespace alibi {
namespace {

AttentionInputs one_head(std::int64_t length) {
  return make_attention_inputs(
      {.heads = 1, .key_value_heads = 1, .length = length, .head_width = 16, .type = torch::kFloat},
      1);
}

double difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(TextbookAttention, EqualsTheReference) {
  AttentionInputs inputs = make_attention_inputs({.sequences = 2,
                                                  .heads = 4,
                                                  .key_value_heads = 2,
                                                  .length = 150,
                                                  .head_width = 16,
                                                  .type = torch::kFloat},
                                                 1);
  for (const bool documents : {false, true}) {
    if (documents)  // the second begins at 70
      inputs.options.visible.first_BT =
          (torch::arange(150).ge(70) * 70).expand({2, 150}).contiguous();
    const AttentionOutputs expected = reference_attention_forward(inputs);
    for (const AttentionOutputs& found :
         {standard_attention_forward(inputs), flash_attention_forward(inputs, 2048)}) {
      EXPECT_LT(difference(found.output_BHTD, expected.output_BHTD), 1e-5) << documents;
      EXPECT_LT(difference(found.lse_BHT, expected.lse_BHT), 1e-5) << documents;
    }
  }
}

TEST(Traffic, OfTheStandardAlgorithmIsThatOfItsTables) {
  Traffic traffic;
  standard_attention_forward(one_head(96), &traffic);
  EXPECT_EQ(traffic.reads, 3 * 96 * 16 + 2 * 96 * 96);
  EXPECT_EQ(traffic.writes, 2 * 96 * 96 + 96 * 16);
}

TEST(Traffic, OfFlashFallsAsFastMemoryGrows) {
  std::int64_t before = 0;
  for (const std::int64_t fast : {512, 1024, 2048, 4096}) {
    Traffic traffic;
    flash_attention_forward(one_head(256), fast, &traffic);
    // Algorithm 1: K and V once; for each of S / B_c key blocks Q and O once, O and statistics
    // back.
    const std::int64_t passes = 256 / flash_blocks(16, fast).keys;
    EXPECT_EQ(traffic.reads, 2 * 256 * 16 + passes * (2 * 256 * 16 + 2 * 256));
    EXPECT_EQ(traffic.writes, passes * (256 * 16 + 2 * 256));
    if (before > 0) {
      EXPECT_LT(traffic.reads + traffic.writes, 0.6 * static_cast<double>(before));
    }
    before = traffic.reads + traffic.writes;
  }
}

TEST(Traffic, BlocksAreThePapers) {
  EXPECT_EQ(flash_blocks(64, 16'384).keys, 64);
  EXPECT_EQ(flash_blocks(64, 16'384).queries, 64);
  EXPECT_EQ(flash_blocks(64, 100'000).keys, 391);
  EXPECT_EQ(flash_blocks(64, 100'000).queries, 64);
  EXPECT_EQ(flash_blocks(128, 1000).keys, 2);
}

}  // namespace
}  // namespace alibi
