// A long text read layer by layer gives what the ordinary pass gives.
#include <gtest/gtest.h>

#include "device/memory.h"
#include "model/gpt.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

// Head widths that the tiled kernels take.
ModelConfig wide_config(Position position) {
  ModelConfig config = tiny_config(position);
  config.width = 64;
  config.heads = 4;
  config.key_value_heads = 2;
  return config;
}

TEST(LongPass, EqualsTheOrdinaryPass) {
  const torch::NoGradGuard guard;
  for (const Position position : {Position::kAlibi, Position::kRotary, Position::kSinusoidal}) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      Gpt model = tiny_model(wide_config(position), type);
      const torch::Tensor tokens = tiny_tokens(2, 300);
      const torch::Tensor ordinary = model->hidden(tokens);
      for (const std::int64_t chunk : {64, 128, 512}) {
        const torch::Tensor found = model->hidden_by_layers(tokens, {}, chunk);
        EXPECT_LT(largest_difference(found, ordinary), type == torch::kFloat ? 1e-5 : 0.1) << chunk;
      }
    }
  }
}

TEST(LongPass, KeepsDocumentsApart) {
  const torch::NoGradGuard guard;
  Gpt model = tiny_model(wide_config(Position::kAlibi));
  const torch::Tensor tokens = tiny_tokens(1, 300);
  ForwardOptions options;
  options.document_start_BT = torch::arange(300).div(90, "floor").mul(90).unsqueeze(0);
  EXPECT_LT(largest_difference(model->hidden_by_layers(tokens, options, 128),
                               model->hidden(tokens, options)),
            1e-5);
}

// 32,768 positions: the ordinary pass would hold the MLP's 32,768 x 4 C numbers and more.
TEST(LongPassSlow, IsTakenByItselfAndKeepsMemoryLow) {
  const torch::NoGradGuard guard;
  ModelConfig config = wide_config(Position::kAlibi);
  config.width = 256;
  Gpt model = tiny_model(config);
  constexpr std::int64_t kLength = 32'768;
  const torch::Tensor tokens = tiny_tokens(1, kLength);
  model->hidden(tokens.narrow(1, 0, 300));
  reset_peak_memory(torch::kCPU);
  const std::int64_t before = peak_memory_bytes(torch::kCPU);
  model->hidden(tokens);
  // The result, packed keys and values (half the width), and chunks of 8,192 positions.
  constexpr std::int64_t kRow = 256 * 4;
  constexpr std::int64_t kChunks = 8192 * kRow * 16;
  EXPECT_LT(peak_memory_bytes(torch::kCPU) - before, 2 * kLength * kRow + kChunks);
}

}  // namespace
}  // namespace alibi
