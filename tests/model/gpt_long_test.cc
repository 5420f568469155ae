// A long text read layer by layer gives what the ordinary pass gives.
#include <gtest/gtest.h>

#include "device/libtorch.h"
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
  for (const Position position : kAllPositions) {
    if (position == Position::kFire) continue;  // by the reference alone
    if (position_method(position).has_table) continue;
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

TEST(LongPass, KeepsAPattern) {
  const torch::NoGradGuard guard;
  ModelConfig config = wide_config(Position::kT5);
  config.attention_pattern = {"window(90) + global(9)", "layers 1: random(1) + fixed(40, 3)"};
  Gpt model = tiny_model(config);
  const torch::Tensor tokens = tiny_tokens(1, 300);
  EXPECT_LT(largest_difference(model->hidden_by_layers(tokens, {}, 128), model->hidden(tokens)),
            1e-5);
}

// What is asked for beside the result is that of the ordinary pass.
TEST(LongPass, CountsBlocksAndShowsQueriesAndKeys) {
  const torch::NoGradGuard guard;
  ModelConfig config = wide_config(Position::kForgetting);
  config.attention_pattern = {"layers 1 heads 1: window(70)"};
  Gpt model = std::make_shared<GptImpl>(config, kTinyVocabulary, torch::kFloat,
                                        AttentionConfig{.skip = SkipRule::kOff});
  model->initialize(3, 0.2);
  const torch::Tensor tokens = tiny_tokens(2, 300);
  std::vector<torch::Tensor> ordinary, found;
  std::vector<AttentionInputs> ordinary_inputs, found_inputs;
  const auto asking = [](std::vector<torch::Tensor>& counts, std::vector<AttentionInputs>& inputs) {
    ForwardOptions options;
    options.visited_blocks = &counts;
    options.attention_inputs = [&](const AttentionInputs& layer) { inputs.push_back(layer); };
    return options;
  };
  model->hidden(tokens, asking(ordinary, ordinary_inputs));
  model->hidden_by_layers(tokens, asking(found, found_inputs), 128);
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found_inputs.size(), 2U);
  EXPECT_LT(ordinary[1].sum().item<std::int64_t>(), ordinary[0].sum().item<std::int64_t>());
  for (std::size_t layer = 0; layer < 2; ++layer) {
    EXPECT_TRUE(torch::equal(found[layer], ordinary[layer])) << layer;
    const AttentionInputs &a = found_inputs[layer], &b = ordinary_inputs[layer];
    EXPECT_LT(largest_difference(a.q_BHTD, b.q_BHTD), 1e-5);
    EXPECT_LT(largest_difference(a.k_BGSD, b.k_BGSD), 1e-5);
    EXPECT_LT(largest_difference(a.options.bias.terms_BHS, b.options.bias.terms_BHS), 1e-5);
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

// Short documents: attention costs little then.
std::int64_t peak_of_pass(Gpt& model, const torch::Tensor& tokens, std::int64_t chunk) {
  ForwardOptions options;
  options.document_start_BT = torch::arange(tokens.size(1)).div(512, "floor").mul(512).unsqueeze(0);
  reset_peak_memory(torch::kCPU);
  const std::int64_t before = peak_memory_bytes(torch::kCPU);
  if (chunk == 0) {
    model->hidden(tokens, options);
  } else {
    model->hidden_by_layers(tokens, options, chunk);
  }
  return peak_memory_bytes(torch::kCPU) - before;
}

// In one chunk the MLP alone holds 8 numbers for each of the residual's. What the allocator keeps
// differs between machines, so the pass is measured against itself.
TEST(LongPassSlow, IsTakenByItselfAndKeepsMemoryLow) {
  const torch::NoGradGuard guard;
  ModelConfig config = wide_config(Position::kAlibi);
  config.width = 256;
  Gpt model = tiny_model(config);
  constexpr std::int64_t kLength = 65'536;
  const torch::Tensor tokens = tiny_tokens(1, kLength);
  model->hidden(tokens.narrow(1, 0, 300));
  const std::int64_t by_itself = peak_of_pass(model, tokens, 0);
  const std::int64_t in_one_chunk = peak_of_pass(model, tokens, kLength);
  EXPECT_GT(by_itself, kLength * 256 * 4);  // the measurement sees the residual at least
  EXPECT_LT(3 * by_itself, 2 * in_one_chunk);
}

}  // namespace
}  // namespace alibi
