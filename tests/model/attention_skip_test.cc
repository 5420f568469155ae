// Leaving blocks out: "exact" gives the same bits as leaving out nothing, "epsilon" stays below the
// rounding of a row, on ordinary and on adversarial inputs.
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include "bench/cases.h"
#include "device/libtorch.h"
#include "kernels/tile_ops.h"
#include "model/attention.h"
#include "model/attention_tiled.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

constexpr TileSet kSets[] = {{&kAvx512Bf16Tiles, &kAvx512Fp32Tiles},
                             {&kAvx2Bf16Tiles, &kAvx2Fp32Tiles},
                             {&kPlainBf16Tiles, &kPlainFp32Tiles}};

std::shared_ptr<const KeyRules> one_rule(const KeyParts& parts) {
  return std::make_shared<const KeyRules>(std::vector<KeyParts>{parts});
}

struct Result {
  AttentionOutputs outputs;
  AttentionGradients gradients;
  std::int64_t visited = 0;
};

Result run(const TileSet& set, AttentionInputs inputs, SkipRule skip) {
  inputs.options.skip = skip;
  const torch::Tensor visited = torch::zeros(
      {inputs.q_BHTD.size(0), inputs.q_BHTD.size(1), (inputs.q_BHTD.size(2) + 63) / 64},
      torch::kInt32);
  Result result{tiled_attention_forward(set, inputs, visited), {}, 0};
  torch::manual_seed(3);
  const torch::Tensor gradient =
      torch::randn(inputs.q_BHTD.sizes()).to(inputs.q_BHTD.scalar_type());
  result.gradients = tiled_attention_backward(set, inputs, result.outputs, gradient);
  result.visited = visited.sum().item<std::int64_t>();
  return result;
}

AttentionInputs standard_normal(torch::ScalarType type) {
  return make_attention_inputs(
      {.heads = 4, .key_value_heads = 2, .length = 640, .head_width = 16, .type = type}, 1);
}

// Every query leans on the first key, however far.
AttentionInputs sink(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  inputs.k_BGSD.select(2, 0).fill_(60);
  inputs.q_BHTD.abs_();
  return inputs;
}

// One key in the middle outweighs all others for one query near the end.
AttentionInputs far_key(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  inputs.k_BGSD.select(2, 300).fill_(0).select(2, 3).fill_(500);
  inputs.q_BHTD.select(2, 630).select(2, 3).fill_(20);
  return inputs;
}

AttentionInputs large_norms(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  inputs.q_BHTD.mul_(20);
  inputs.k_BGSD.mul_(20);
  return inputs;
}

// Far values larger than the near ones by far: what is left out of the sums is small, not of them.
AttentionInputs large_far_values(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  inputs.v_BGSD.narrow(2, 0, 64).mul_(1000);
  return inputs;
}

// A model that has learned something: a short run on tokens of which each follows from the one
// seven before it.
AttentionInputs trained(torch::ScalarType type) {
  static std::vector<AttentionInputs> layers = [] {
    ModelConfig config = tiny_config(Position::kAlibi);
    Gpt model = tiny_model(config);
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    for (int step = 0; step < 30; ++step) {
      torch::Tensor tokens = tiny_tokens(8, 65);
      for (int i = 7; i < 65; ++i) tokens.select(1, i).copy_(tokens.select(1, i - 7) % 60 + 5);
      const torch::Tensor logits = model->logits(model->hidden(tokens.narrow(1, 0, 64)));
      optimizer.zero_grad();
      torch::nll_loss(torch::log_softmax(logits.flatten(0, 1), 1),
                      tokens.narrow(1, 1, 64).flatten())
          .backward();
      optimizer.step();
    }
    const torch::NoGradGuard guard;
    std::vector<AttentionInputs> found;
    ForwardOptions options;
    options.attention_inputs = [&](const AttentionInputs& layer) { found.push_back(layer); };
    model->hidden(tiny_tokens(1, 640), options);
    return found;
  }();
  AttentionInputs inputs = layers.back();
  for (torch::Tensor* x : {&inputs.q_BHTD, &inputs.k_BGSD, &inputs.v_BGSD})
    *x = x->detach().to(type);
  return inputs;
}

// A table that falls, to its last number; and one that comes up again far away, which keeps all:
// seen failing with the number at the nearest key in place of the largest from it on.
AttentionInputs falling_table(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  torch::Tensor table_HL = torch::arange(400, torch::kFloat).neg().unsqueeze(0).repeat({4, 1});
  table_HL.mul_(torch::tensor({1.0F, 0.5F, 0.1F, 0.01F}).unsqueeze(1));
  inputs.options.bias = {{}, table_HL.requires_grad_(), {}};
  return inputs;
}

AttentionInputs rising_table(torch::ScalarType type) {
  AttentionInputs inputs = falling_table(type);
  torch::Tensor table_HL =
      torch::cat({inputs.options.bias.table_HL.detach(), torch::full({4, 200}, -400.0F)}, 1);
  table_HL.narrow(1, 500, 20).fill_(-2);
  inputs.options.bias.table_HL = table_HL.requires_grad_();
  return inputs;
}

// Running sums of log forget gates, one head that forgets nothing.
AttentionInputs forgetting(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  torch::Tensor gates_BHS = -torch::rand({1, 4, 640}, torch::kDouble);
  gates_BHS.select(1, 3).zero_();
  inputs.options.bias = {{}, {}, gates_BHS.cumsum(2).requires_grad_()};
  return inputs;
}

// What a query sees: the skipping's walk meets global keys far behind a window, ends inside
// documents, and starts after a past.
AttentionInputs windowed(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  inputs.options.visible.rules = one_rule({.window = 100, .global = 16});
  inputs.options.bias.slopes_H.requires_grad_();
  return inputs;
}

AttentionInputs documents(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  const torch::Tensor position = torch::arange(640);
  inputs.options.visible.first_BT = (position - position % 150).unsqueeze(0);
  return inputs;
}

AttentionInputs after_a_past(torch::ScalarType type) {
  AttentionInputs inputs = standard_normal(type);
  inputs.q_BHTD = inputs.q_BHTD.narrow(2, 333, 307).contiguous();
  inputs.options.visible.rules = one_rule({.window = 500});
  return inputs;
}

using MakeInputs = AttentionInputs (*)(torch::ScalarType);
const std::pair<const char*, MakeInputs> kInputs[] = {{"standard normal", standard_normal},
                                                      {"sink", sink},
                                                      {"far key", far_key},
                                                      {"large norms", large_norms},
                                                      {"large far values", large_far_values},
                                                      {"trained", trained},
                                                      {"falling table", falling_table},
                                                      {"rising table", rising_table},
                                                      {"forgetting", forgetting},
                                                      {"windowed", windowed},
                                                      {"documents", documents},
                                                      {"after a past", after_a_past}};

void expect_equal(const Result& a, const Result& b) {
  EXPECT_TRUE(torch::equal(a.outputs.output_BHTD, b.outputs.output_BHTD));
  EXPECT_TRUE(torch::equal(a.outputs.lse_BHT, b.outputs.lse_BHT));
  EXPECT_TRUE(torch::equal(a.gradients.q_BHTD, b.gradients.q_BHTD));
  EXPECT_TRUE(torch::equal(a.gradients.k_BGSD, b.gradients.k_BGSD));
  EXPECT_TRUE(torch::equal(a.gradients.v_BGSD, b.gradients.v_BGSD));
  const ScoreBias &x = a.gradients.bias, &y = b.gradients.bias;
  for (const auto part : {&ScoreBias::slopes_H, &ScoreBias::table_HL, &ScoreBias::terms_BHS}) {
    ASSERT_EQ((x.*part).defined(), (y.*part).defined());
    EXPECT_TRUE(!(x.*part).defined() || torch::equal(x.*part, y.*part));
  }
}

// Within `unit` roundings of the largest number.
void expect_near(const char* what, const torch::Tensor& a, const torch::Tensor& b, double unit) {
  const double size = b.to(torch::kDouble).abs().max().item<double>();
  EXPECT_LE(largest_difference(a, b), 4 * unit * size) << what;
}

void compare(const TileSet& set, torch::ScalarType type, const char* name, MakeInputs make) {
  SCOPED_TRACE(std::string(set.fp32->name) + ", " + name);
  if (!(type == torch::kBFloat16 ? set.bf16 : set.fp32)->available()) return;
  const AttentionInputs inputs = make(type);
  const Result off = run(set, inputs, SkipRule::kOff), exact = run(set, inputs, SkipRule::kExact);
  const Result epsilon = run(set, inputs, SkipRule::kEpsilon);
  expect_equal(off, exact);
  EXPECT_LE(exact.visited, off.visited);
  EXPECT_LE(epsilon.visited, exact.visited);
  if (make == standard_normal || make == trained || make == forgetting || make == falling_table) {
    EXPECT_LT(epsilon.visited, exact.visited) << "steep heads skip";
    EXPECT_LT(exact.visited, off.visited) << "and what underflows is never visited";
  }
  const double unit = type == torch::kBFloat16 ? 0x1p-8 : 0x1p-23;
  expect_near("output", epsilon.outputs.output_BHTD, off.outputs.output_BHTD, unit);
  expect_near("lse", epsilon.outputs.lse_BHT, off.outputs.lse_BHT, 0x1p-23);
  expect_near("q", epsilon.gradients.q_BHTD, off.gradients.q_BHTD, unit);
  expect_near("k", epsilon.gradients.k_BGSD, off.gradients.k_BGSD, unit);
  expect_near("v", epsilon.gradients.v_BGSD, off.gradients.v_BGSD, unit);
  const ScoreBias &some = epsilon.gradients.bias, &all = off.gradients.bias;
  if (all.slopes_H.defined()) expect_near("slopes", some.slopes_H, all.slopes_H, 0x1p-20);
  if (all.table_HL.defined()) expect_near("table", some.table_HL, all.table_HL, 0x1p-20);
  if (all.terms_BHS.defined()) expect_near("terms", some.terms_BHS, all.terms_BHS, 0x1p-20);
}

TEST(AttentionSkip, ExactIsTheSameBitsAndEpsilonBelowRounding) {
  for (const TileSet& set : kSets)
    for (const auto type : {torch::kFloat, torch::kBFloat16})
      for (const auto& [name, make] : kInputs) compare(set, type, name, make);
}

// The config's word reaches the kernels, in evaluation as in training, and the long pass with it.
TEST(AttentionSkip, IsWhatTheConfigSays) {
  if (!kSets[1].fp32->available()) GTEST_SKIP() << "no tiled kernel is chosen here";
  ModelConfig config = tiny_config(Position::kAlibi);
  config.slopes = {1, 0.5, 0.5, 0.25};
  const torch::NoGradGuard guard;
  const torch::Tensor tokens = tiny_tokens(1, 1024);
  std::map<SkipRule, std::int64_t> visited;
  std::map<SkipRule, torch::Tensor> hidden, by_layers;
  for (const SkipRule skip : {SkipRule::kOff, SkipRule::kExact, SkipRule::kEpsilon}) {
    Gpt model = std::make_shared<GptImpl>(config, kTinyVocabulary, torch::kFloat,
                                          AttentionConfig{.skip = skip});
    model->initialize(3, 0.2);
    std::vector<torch::Tensor> counts;
    ForwardOptions options;
    options.visited_blocks = &counts;
    hidden[skip] = model->hidden(tokens, options);
    for (const torch::Tensor& layer : counts) visited[skip] += layer.sum().item<std::int64_t>();
    by_layers[skip] = model->hidden_by_layers(tokens, {}, 256);
  }
  EXPECT_EQ(visited[SkipRule::kOff], 2 * 4 * 16 * 17 / 2) << "all of the causal half";
  EXPECT_LT(visited[SkipRule::kExact], visited[SkipRule::kOff]);
  EXPECT_LT(visited[SkipRule::kEpsilon], visited[SkipRule::kExact]);
  for (auto* all : {&hidden, &by_layers}) {
    EXPECT_TRUE(torch::equal((*all)[SkipRule::kExact], (*all)[SkipRule::kOff]));
    EXPECT_LT(largest_difference((*all)[SkipRule::kEpsilon], (*all)[SkipRule::kOff]), 2e-5);
  }
}

// A rule that forgot the key's norm would lose what the query leans on.
TEST(AttentionSkip, KeepsTheOneKeyThatDominates) {
  for (const TileSet& set : kSets) {
    if (!set.fp32->available()) continue;
    const AttentionInputs inputs = far_key(torch::kFloat);
    const Result epsilon = run(set, inputs, SkipRule::kEpsilon);
    const torch::Tensor output = epsilon.outputs.output_BHTD.select(2, 630);
    const torch::Tensor value =
        inputs.v_BGSD.select(2, 300).repeat_interleave(2, 1);  // two heads share a group
    EXPECT_LT(largest_difference(output.select(1, 3), value.select(1, 3)), 1e-5) << set.fp32->name;
  }
}

void expect_any_thread_count(const TileSet& set, const AttentionInputs& inputs) {
  at::set_num_threads(1);
  const Result one = run(set, inputs, SkipRule::kEpsilon);
  at::set_num_threads(3);
  const Result three = run(set, inputs, SkipRule::kEpsilon);
  at::set_num_threads(1);
  expect_equal(one, three);
}

// Results do not depend on how work is spread: by units or by blocks, one thread or three.
TEST(AttentionThreads, AnyCountGivesTheSameBits) {
  for (const TileSet& set : kSets) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      if (!(type == torch::kBFloat16 ? set.bf16 : set.fp32)->available()) continue;
      AttentionInputs inputs = make_attention_inputs({.sequences = 2,
                                                      .heads = 6,
                                                      .key_value_heads = 3,
                                                      .length = 300,
                                                      .head_width = 24,
                                                      .type = type},
                                                     2);
      inputs.options.bias.slopes_H.requires_grad_();
      expect_any_thread_count(set, inputs);
      // So many key blocks that some share a part of a table's gradient; so many units that one
      // thread takes each in one sweep.
      inputs = make_attention_inputs({.sequences = 2,
                                      .heads = 4,
                                      .key_value_heads = 2,
                                      .length = 1200,
                                      .head_width = 8,
                                      .type = type},
                                     3);
      ScoreBias& bias = inputs.options.bias;
      bias.slopes_H.requires_grad_();
      bias.table_HL = torch::randn({4, 900}).requires_grad_();
      bias.terms_BHS = torch::randn({2, 4, 1200}, torch::kDouble).requires_grad_();
      inputs.options.visible.rules = one_rule({.window = 1150});
      expect_any_thread_count(set, inputs);
    }
  }
}

// Both use a processor's tile registers where it has them: neither may rely on what the other left.
TEST(AttentionThreads, TakesTurnsWithOtherMatrixProducts) {
  AttentionInputs inputs =
      make_attention_inputs({.heads = 1, .key_value_heads = 1, .length = 64}, 4);
  const torch::Tensor x = torch::randn({256, 512}).to(torch::kBFloat16);
  const torch::Tensor w = torch::randn({512, 512}).to(torch::kBFloat16);
  const torch::Tensor first = attention(inputs), product = at::linear(x, w);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(attention(inputs), first));
    EXPECT_TRUE(torch::equal(at::linear(x, w), product));
  }
}

}  // namespace
}  // namespace alibi
