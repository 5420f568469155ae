// Recomputed blocks and gradients that need no copy: the same bits, less memory.
#include "device/libtorch.h"
#include "model/layers.h"

#include <gtest/gtest.h>

#include "kernels/processor.h"
#include "model/attention.h"
#include "model/attention_rows.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

std::vector<torch::Tensor> gradients(Gpt& model, const torch::Tensor& tokens_BT, bool recompute) {
  ForwardOptions options;
  options.training = true;  // dropout and all
  options.random = RandomKey{7};
  options.recompute = recompute;
  for (const torch::Tensor& p : model->parameters()) p.mutable_grad().reset();
  const torch::Tensor h_BTC = model->hidden(tokens_BT, options).to(torch::kFloat);
  (h_BTC * torch::arange(h_BTC.size(1)).view({-1, 1})).sum().backward();
  std::vector<torch::Tensor> found{h_BTC.detach()};
  for (const torch::Tensor& p : model->parameters())
    if (p.grad().defined()) found.push_back(p.grad().clone());
  return found;
}

TEST(Recompute, GivesTheSameBitsWithDropout) {
  for (const Position position : kAllPositions) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      Gpt model = tiny_model(rich_config(position), type);
      const torch::Tensor tokens_BT = tiny_tokens(2, 40);
      const auto kept = gradients(model, tokens_BT, false);
      const auto again = gradients(model, tokens_BT, true);
      ASSERT_EQ(kept.size(), again.size());
      for (std::size_t i = 0; i < kept.size(); ++i)
        EXPECT_TRUE(torch::equal(kept[i], again[i])) << i << " position " << int(position);
    }
  }
}

// Packed layers, the fused MLP and tiled attention with shared heads.
TEST(Recompute, GivesTheSameBitsOfTheFastPaths) {
  ModelConfig config = tiny_config(Position::kAlibi);
  config.width = 128;
  config.key_value_heads = 2;
  for (const auto type : {torch::kFloat, torch::kBFloat16}) {
    Gpt model = tiny_model(config, type);
    const torch::Tensor tokens_BT = tiny_tokens(2, 100);
    const auto kept = gradients(model, tokens_BT, false);
    const auto again = gradients(model, tokens_BT, true);
    ASSERT_EQ(kept.size(), again.size());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(torch::equal(kept[i], again[i])) << i;
  }
}

TEST(Recompute, CallsTheFunctionAgainForItsGradient) {
  int calls = 0;
  const auto f = [&calls](const torch::Tensor& x) {
    ++calls;
    return (x.exp() * x.sin()).tanh();
  };
  const torch::Tensor x = torch::randn({8, 8}).requires_grad_();
  const torch::Tensor expected = torch::autograd::grad({f(x).sum()}, {x})[0];
  calls = 0;
  const torch::Tensor y = recomputed(x, f);
  EXPECT_EQ(calls, 1);
  y.sum().backward();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(torch::equal(x.grad(), expected));
}

TEST(SplitLast, TakesGradientsThatStandSideBySideAsTheyAre) {
  const torch::Tensor x_BTW = torch::randn({2, 3, 9}).requires_grad_();
  const std::vector<std::int64_t> widths{4, 3, 2};
  const torch::Tensor whole_BTW = torch::randn({2, 3, 9});
  const auto gradient = [&](const std::vector<torch::Tensor>& parts) {
    return torch::autograd::grad(split_last(x_BTW, widths), {x_BTW}, parts)[0];
  };
  const auto side_by_side = whole_BTW.split_with_sizes(widths, 2);
  const torch::Tensor found = gradient(side_by_side);
  EXPECT_TRUE(torch::equal(found, whole_BTW));
  EXPECT_EQ(found.data_ptr(), whole_BTW.data_ptr());
  std::vector<torch::Tensor> apart;
  for (const torch::Tensor& part : side_by_side) apart.push_back(part.clone());
  EXPECT_TRUE(torch::equal(gradient(apart), whole_BTW));
  // The same memory in another order must not be taken for the whole.
  const auto of_4_2_3 = whole_BTW.split_with_sizes({4, 2, 3}, 2);
  EXPECT_TRUE(torch::equal(gradient({of_4_2_3[0], of_4_2_3[2], of_4_2_3[1]}),
                           torch::cat({of_4_2_3[0], of_4_2_3[2], of_4_2_3[1]}, 2)));
}

TEST(SplitLast, HasItsCaseInEveryTrainedModelOfTiledHeads) {
  const AttentionInputs inputs = [] {
    const torch::Tensor qkv_BTHD = torch::randn({2, 70, 8, 16}).requires_grad_();
    const torch::Tensor x_BHTD = qkv_BTHD.transpose(1, 2);
    return AttentionInputs{x_BHTD.narrow(1, 0, 4), x_BHTD.narrow(1, 4, 2), x_BHTD.narrow(1, 6, 2),
                           ScoreOptions{}};
  }();
  const torch::Tensor out_BHTD = attention(inputs, "auto");
  const auto d = torch::autograd::grad({out_BHTD}, {inputs.q_BHTD, inputs.k_BGSD, inputs.v_BGSD},
                                       {torch::ones_like(out_BHTD)});
  if (!has_avx2()) GTEST_SKIP() << "no tiled kernel was chosen";
  EXPECT_TRUE(d[0].storage().is_alias_of(d[1].storage()));
  EXPECT_EQ(d[1].storage_offset() - d[0].storage_offset(), 4 * 16);
  EXPECT_EQ(d[2].storage_offset() - d[0].storage_offset(), 6 * 16);
}

}  // namespace
}  // namespace alibi
