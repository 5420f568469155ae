// The rolling cache against attention that sees a band of keys.
#include "model/cache.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include "model/gpt.h"

namespace alibi {
namespace {

// Positions first .. first + count - 1 as one number each.
torch::Tensor positions(std::int64_t first, std::int64_t count) {
  return torch::arange(first, first + count, torch::kFloat).view({1, 1, count, 1});
}

std::vector<float> held(const KeyValueCache::View& view) {
  const torch::Tensor k = view.k_BGSD.contiguous();
  return {k.data_ptr<float>(), k.data_ptr<float>() + k.numel()};
}

TEST(RollingCache, KeepsTheSinksAndTheNewest) {
  KeyValueCache cache(1, 6, 2);
  std::vector<float> now;
  for (std::int64_t at = 0; at < 12; at += 2) {
    now = held(cache.extend(0, positions(at, 2), positions(at, 2)));
    cache.advance(2);
    EXPECT_EQ(cache.length(), at + 2);
    EXPECT_EQ(std::ssize(now), std::min<std::int64_t>(at + 2, 6));
  }
  EXPECT_EQ(now, (std::vector<float>{0, 1, 8, 9, 10, 11}));
}

TEST(RollingCache, WithoutAWindowKeepsAll) {
  KeyValueCache cache(1);
  for (std::int64_t at = 0; at < 9; at += 3) {
    const auto now = held(cache.extend(0, positions(at, 3), positions(at, 3)));
    cache.advance(3);
    EXPECT_EQ(std::ssize(now), at + 3);
  }
}

TEST(RollingCache, AStepThatDoesNotFitIsOurFault) {
  KeyValueCache cache(1, 4, 1);
  EXPECT_DEATH(cache.extend(0, positions(0, 5), positions(0, 5)), "model/cache");
}

// Token by token through a cache of W positions, each layer sees what a band of W keys shows it.
TEST(RollingCache, GivesWhatABandOfKeysGives) {
  torch::set_num_threads(1);
  const torch::NoGradGuard guard;
  constexpr std::int64_t kLength = 40, kWindow = 7;
  for (const Position position :
       {Position::kAlibi, Position::kRotary, Position::kSinusoidal, Position::kKerple,
        Position::kBam, Position::kSandwich, Position::kT5}) {
    ModelConfig config;
    config.layers = 3;
    config.width = 32;
    config.heads = 4;
    config.position = position;
    Gpt model = std::make_shared<GptImpl>(config, 50, torch::kFloat);
    model->initialize(3, 0.3);
    const torch::Tensor tokens_BT = (torch::arange(2 * kLength) * 7 % 50).view({2, kLength});
    ForwardOptions band;
    band.document_start_BT = (torch::arange(kLength) - kWindow + 1).clamp_min(0).repeat({2, 1});
    const torch::Tensor expected_BTC = model->hidden(tokens_BT, band);
    KeyValueCache cache(config.layers, kWindow);
    for (std::int64_t t = 0; t < kLength; ++t) {
      ForwardOptions step;
      step.cache = &cache;
      // Seen failing: a table for all keys of the text was made in every step, so that reading took
      // the square of its length.
      step.attention_inputs = [&](const AttentionInputs& layer) {
        const torch::Tensor& table_HL = layer.options.bias.table_HL;
        EXPECT_TRUE(!table_HL.defined() || table_HL.size(1) <= kWindow);
      };
      const torch::Tensor found_BC = model->hidden(tokens_BT.narrow(1, t, 1), step).select(1, 0);
      EXPECT_TRUE(torch::allclose(found_BC, expected_BTC.select(1, t), 1e-4, 1e-4)) << t;
    }
  }
}

}  // namespace
}  // namespace alibi
