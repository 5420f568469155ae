// The model as a whole: parameters, gradients, types, dropout.
#include "model/gpt.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include <ATen/Parallel.h>

#include "base/strings.h"
#include "model/layers.h"
#include "model/loss/cross_entropy.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

ForwardOptions training_step(std::uint64_t step) {
  ForwardOptions options;
  options.training = true;
  options.random = RandomKey{9}.with(step);
  return options;
}

torch::Tensor loss_of(Gpt& model, const torch::Tensor& tokens_BT, const ForwardOptions& options) {
  const std::int64_t length = tokens_BT.size(1) - 1;
  const torch::Tensor hidden = model->hidden(tokens_BT.narrow(1, 0, length), options);
  return cross_entropy(hidden.flatten(0, 1), model->head_VC(),
                       tokens_BT.narrow(1, 1, length).flatten(), 13);
}

TEST(Parameters, AlibiHasAsManyAsNoPositionsAndStoresNothingElse) {
  Gpt alibi = tiny_model(tiny_config(Position::kAlibi));
  Gpt none = tiny_model(tiny_config(Position::kNone));
  EXPECT_EQ(alibi->parameter_count(), none->parameter_count());
  EXPECT_EQ(alibi->named_parameters().keys(), none->named_parameters().keys());
  EXPECT_EQ(alibi->slopes(), slopes_by_rule(SlopeRule::kPress, 4, 8));
  EXPECT_TRUE(none->slopes().empty());
}

TEST(Parameters, TheirCountIsTheSumOfTheShapes) {
  // Embedding and two blocks of qkv, out, up, down and two norms, a final norm; the head is tied.
  const std::int64_t c = 32, block = 3 * c * c + c * c + 2 * 4 * c * c + 2 * c;
  const std::int64_t none = kTinyVocabulary * c + 2 * block + c;
  const auto count = [](Position position) {
    return tiny_model(tiny_config(position))->parameter_count();
  };
  EXPECT_EQ(count(Position::kNone), none);
  EXPECT_EQ(count(Position::kSinusoidal), none);
  EXPECT_EQ(count(Position::kRotary), none);
  EXPECT_EQ(count(Position::kLearned), none + 256 * c);
  EXPECT_EQ(count(Position::kT5), none + 8 * 4);
}

TEST(Parameters, TheSameSeedDrawsTheSameSharedWeightsForEveryMethod) {
  const auto reference = tiny_model(tiny_config(Position::kNone))->named_parameters();
  for (const Position position : kAllPositions) {
    const auto found = tiny_model(tiny_config(position))->named_parameters();
    for (const auto& parameter : reference) {
      ASSERT_TRUE(found.contains(parameter.key()));
      EXPECT_TRUE(torch::equal(found[parameter.key()], parameter.value())) << parameter.key();
    }
  }
  Gpt other =
      std::make_shared<GptImpl>(tiny_config(Position::kNone), kTinyVocabulary, torch::kFloat);
  other->initialize(4, 0.2);
  EXPECT_FALSE(torch::equal(other->named_parameters()["embedding"], reference["embedding"]));
}

TEST(Parameters, AreDrawnWithTheGivenSpreadAndResidualBranchesWithLess) {
  ModelConfig config = tiny_config(Position::kNone);
  config.width = 128;
  Gpt model = std::make_shared<GptImpl>(config, 2000, torch::kFloat);
  model->initialize(1, 0.02);
  const auto weights = model->named_parameters();
  EXPECT_NEAR(weights["embedding"].std().item<double>(), 0.02, 2e-4);
  EXPECT_NEAR(weights["block_0.qkv.weight"].std().item<double>(), 0.02, 4e-4);
  // Two branches in each of two layers end in these: sqrt(4) less.
  EXPECT_NEAR(weights["block_1.out.weight"].std().item<double>(), 0.01, 3e-4);
  EXPECT_NEAR(weights["block_1.down.weight"].std().item<double>(), 0.01, 3e-4);
  EXPECT_EQ(weights["norm.weight"].min().item<double>(), 1);
}

TEST(Gradients, ReachEveryParameterAndAreFinite) {
  const torch::Tensor tokens = tiny_tokens(3, 41);
  for (const Position position : kAllPositions) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      for (const bool rich : {false, true}) {
        Gpt model = tiny_model(rich ? rich_config(position) : tiny_config(position), type);
        loss_of(model, tokens, training_step(1)).backward();
        for (const auto& parameter : model->named_parameters()) {
          const torch::Tensor gradient = parameter.value().grad();
          const std::string what = cat(parameter.key(), " of ", name_of(position));
          ASSERT_TRUE(gradient.defined()) << what;
          EXPECT_EQ(gradient.scalar_type(), torch::kFloat) << what;
          EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << what;
          EXPECT_GT(gradient.abs().max().item<double>(), 0) << what;
        }
      }
    }
  }
}

// The whole model in fp64, loss included: each parameter along one random direction.
void expect_finite_differences(const ModelConfig& config, const std::string& what) {
  const torch::Tensor tokens = tiny_tokens(2, 23);
  Gpt model = tiny_model(config);
  for (const torch::Tensor& parameter : model->parameters())
    parameter.set_data(parameter.to(torch::kDouble));
  const auto loss = [&] { return loss_of(model, tokens, training_step(2)); };
  loss().backward();
  const torch::NoGradGuard guard;
  for (auto& parameter : model->named_parameters()) {
    torch::Tensor& value = parameter.value();
    const torch::Tensor direction = torch::randn_like(value);
    const auto loss_at = [&](double move) {
      value.add_(direction, move);
      const double found = loss().item<double>();
      value.sub_(direction, move);
      return found;
    };
    constexpr double kStep = 1e-5;
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    EXPECT_NEAR((value.grad() * direction).sum().item<double>(), slope, 1e-6)
        << parameter.key() << " of " << what;
  }
}

TEST(Gradients, AreFiniteDifferencesInFp64) {
  for (const Position position : kAllPositions)
    expect_finite_differences(rich_config(position), name_of(position));
}

// Buckets do not change on so small a way.
TEST(Gradients, OfPatternsHashedKeysAndTwoStreamsAreFiniteDifferencesInFp64) {
  ModelConfig config = tiny_config(Position::kAlibi);
  config.reversible = true;
  expect_finite_differences(config, "reversible layers");
  for (const char* pattern : {"window(5) + global(2)", "strided(4)", "lsh(4, 8, 2)"}) {
    config.attention_pattern = {pattern};
    for (const bool reversible : {false, true}) {
      config.reversible = reversible;
      expect_finite_differences(config, pattern);
    }
  }
}

TEST(Types, Bf16StaysCloseToFp32) {
  const torch::Tensor tokens = tiny_tokens(2, 100);
  for (const Position position : kAllPositions) {
    Gpt exact = tiny_model(tiny_config(position));
    Gpt rounded = tiny_model(tiny_config(position), torch::kBFloat16);
    const torch::Tensor expected = tiny_logits(exact, tokens), found = tiny_logits(rounded, tokens);
    EXPECT_EQ(found.scalar_type(), torch::kFloat);
    const double size = expected.abs().max().item<double>();
    // Two layers of values rounded to 8 bits: measured at most 0.02 of the largest logit.
    EXPECT_LT(largest_difference(found, expected), 0.04 * size) << name_of(position);
  }
}

TEST(Options, EachChangesTheResult) {
  const torch::Tensor tokens = tiny_tokens(1, 30);
  Gpt plain = tiny_model(tiny_config(Position::kAlibi));
  const torch::Tensor logits = tiny_logits(plain, tokens);
  const std::pair<const char*, std::function<void(ModelConfig&)>> changes[] = {
      {"heads", [](ModelConfig& m) { m.heads = 2; }},
      {"attention_scale", [](ModelConfig& m) { m.attention_scale = 1.0; }},
      {"activation", [](ModelConfig& m) { m.activation = Activation::kGeluTanh; }},
      {"norm_epsilon", [](ModelConfig& m) { m.norm_epsilon = 0.1; }},
      {"embedding_norm", [](ModelConfig& m) { m.embedding_norm = true; }},
      {"slope_bias_max", [](ModelConfig& m) { m.slope_bias_max = 16; }},
      {"slopes",
       [](ModelConfig& m) {
         m.slopes = {0.1, 0.2, 0.3, 0.4};
       }},
  };
  for (const auto& [name, change] : changes) {
    ModelConfig config = tiny_config(Position::kAlibi);
    change(config);
    Gpt model = tiny_model(config);
    EXPECT_GT(largest_difference(tiny_logits(model, tokens), logits), 1e-5) << name;
  }
}

TEST(Dropout, MasksAreTheSameForAnyNumberOfThreadsAndDifferFromStepToStep) {
  const torch::Tensor x = torch::ones({50, 20, 33}), tokens = tiny_tokens(3, 40);
  Gpt model = tiny_model(rich_config(Position::kAlibi));
  std::vector<torch::Tensor> masks, hidden;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    const torch::NoGradGuard guard;
    masks.push_back(dropout(x, 0.3, RandomKey{1}.with(5)));
    hidden.push_back(model->hidden(tokens, training_step(7)));
  }
  at::set_num_threads(2);
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_TRUE(torch::equal(masks[i], masks[0]));
    // Another mask anywhere would move this by about 1; sums may differ in their order.
    EXPECT_LT(largest_difference(hidden[i], hidden[0]), 1e-5);
  }
  EXPECT_GT(largest_difference(model->hidden(tokens, training_step(8)), hidden[0]), 0.1);
  EXPECT_FALSE(torch::equal(dropout(x, 0.3, RandomKey{1}.with(6)), masks[0]));
}

TEST(Dropout, KeepsTheShareAndTheMeanAndIsOffOutsideTraining) {
  const torch::Tensor kept = dropout(torch::full({100, 1000}, 2.0), 0.25, RandomKey{3});
  // 100,000 draws: 4 standard deviations are 0.0055.
  EXPECT_NEAR((kept == 0).to(torch::kDouble).mean().item<double>(), 0.25, 0.0055);
  EXPECT_NEAR(kept.max().item<double>(), 2 / 0.75, 1e-6);
  EXPECT_NEAR(kept.mean().item<double>(), 2, 0.0055 * 2 / 0.75);
  ModelConfig config = rich_config(Position::kAlibi);
  const torch::Tensor tokens = tiny_tokens(1, 20);
  Gpt with = tiny_model(config);
  config.embedding_dropout = config.attention_dropout = 0;
  config.residual_dropout = config.mlp_dropout = 0;
  Gpt without = tiny_model(config);
  EXPECT_TRUE(torch::equal(tiny_logits(with, tokens), tiny_logits(without, tokens)));
}

TEST(Dropout, EachKindActsAloneAndDiffersFromStepToStep) {
  const torch::Tensor tokens = tiny_tokens(1, 20);
  for (double ModelConfig::*kind :
       {&ModelConfig::embedding_dropout, &ModelConfig::attention_dropout,
        &ModelConfig::residual_dropout, &ModelConfig::mlp_dropout}) {
    ModelConfig config = tiny_config(Position::kAlibi);
    config.*kind = 0.3;
    Gpt model = tiny_model(config);
    const torch::Tensor first = tiny_logits(model, tokens, training_step(1));
    EXPECT_GT(largest_difference(first, tiny_logits(model, tokens)), 1e-3);
    EXPECT_GT(largest_difference(first, tiny_logits(model, tokens, training_step(2))), 1e-3);
    EXPECT_TRUE(torch::equal(first, tiny_logits(model, tokens, training_step(1))));
  }
}

}  // namespace
}  // namespace alibi
