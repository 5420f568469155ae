// The two ways to compute linear layers: how one is chosen, and that both compute the same.
#include "model/linear_choice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/strings.h"
#include "device/libtorch.h"
#include "kernels/processor.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

TEST(LinearChoice, IsPackedUnlessTheOtherIsClearlyFaster) {
  EXPECT_EQ((LinearTimes{1.0, 2.0}.faster()), LinearLayers::kPacked);
  EXPECT_EQ((LinearTimes{1.0, 0.97}.faster()), LinearLayers::kPacked);
  EXPECT_EQ((LinearTimes{1.0, 0.9}.faster()), LinearLayers::kLibtorch);
}

TEST(LinearChoice, IsLeftOpenWhereThereIsNothingToChoose) {
  ModelConfig config = tiny_config(Position::kAlibi);
  config.width = 256;
  EXPECT_FALSE(time_linear_layers(config, 4096, torch::kFloat, 4096));
  EXPECT_FALSE(time_linear_layers(config, 4096, torch::kBFloat16, 16));
  const auto times = time_linear_layers(config, 4096, torch::kBFloat16, 4096);
  ASSERT_EQ(times.has_value(), has_avx512_bf16());
  if (!times) return;
  EXPECT_GT(times->packed, 0);
  EXPECT_GT(times->libtorch, 0);
}

// Seen failing with the two exchanged.
TEST(LinearChoice, TimesAreOfTheirOwnWay) {
  int packed = 0, libtorch = 0;
  const auto takes = [](int milliseconds, int& calls) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  };
  const LinearTimes times = time_in_turns([&] { takes(2, packed); }, [&] { takes(40, libtorch); });
  EXPECT_LT(times.packed, 0.03);
  EXPECT_GT(times.libtorch, 0.03);
  EXPECT_EQ(packed, libtorch);
  EXPECT_GE(packed, 4);
  EXPECT_NE(
      times.text().find(cat("packed; forward and backward in ", fixed(1e3 * times.packed, 1))),
      std::string::npos);
}

double relative_distance(const torch::Tensor& x, const torch::Tensor& y) {
  return ((x - y).norm() / y.norm()).item<double>();
}

torch::Tensor with_gradients(GptImpl& model, std::vector<torch::Tensor>& gradients) {
  ForwardOptions options;
  options.training = true;
  const torch::Tensor h_BTC = model.hidden(tiny_tokens(2, 100), options).to(torch::kFloat);
  torch::manual_seed(5);
  (h_BTC * torch::randn(h_BTC.sizes())).sum().backward();  // a plain sum of normed rows is 0
  for (const torch::Tensor& p : model.parameters())
    if (p.grad().defined()) gradients.push_back(p.grad());
  return h_BTC.detach();
}

// Both in bf16: as far from each other as its rounding, and not the same bits, or they were one.
TEST(LinearChoice, BothComputeTheSame) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  ModelConfig config = tiny_config(Position::kAlibi);
  config.width = 128;
  std::vector<torch::Tensor> hidden;
  std::vector<std::vector<torch::Tensor>> gradients(2);
  for (const LinearLayers layers : {LinearLayers::kPacked, LinearLayers::kLibtorch}) {
    GptImpl model(config, kTinyVocabulary, torch::kBFloat16, {}, layers);
    model.initialize(0, 0.1);
    hidden.push_back(with_gradients(model, gradients[hidden.size()]));
  }
  EXPECT_FALSE(torch::equal(hidden[0], hidden[1]));
  EXPECT_LT(relative_distance(hidden[0], hidden[1]), 0.02);
  ASSERT_EQ(gradients[0].size(), gradients[1].size());
  for (std::size_t i = 0; i < gradients[0].size(); ++i)
    EXPECT_LT(relative_distance(gradients[0][i], gradients[1][i]), 0.05) << i;
}

}  // namespace
}  // namespace alibi
