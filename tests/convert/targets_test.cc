// What each target is said to be unable to hold: every key that makes another model of it.
#include "convert/targets.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace alibi {
namespace {

ModelConfig model(const std::vector<std::string>& changes) {
  std::vector<std::string> all = {"model.width=64", "model.heads=4", "model.layers=2"};
  all.insert(all.end(), changes.begin(), changes.end());
  return load_config({}, all).model;
}

std::string words(Dialect target, const std::vector<std::string>& changes) {
  std::string text;
  for (const std::string& phrase : obstacles(target, model(changes))) text += phrase + "\n";
  return text;
}

const std::vector<std::string> kBloom = {"model.attention_bias=true", "model.mlp_bias=true",
                                         "model.norm_bias=true", "model.embedding_norm=true",
                                         "model.activation=gelu_tanh"};

TEST(Targets, HoldTheModelsTheyAreFor) {
  EXPECT_EQ(words(Dialect::kMpt, {}), "");
  EXPECT_EQ(words(Dialect::kMpt, {"model.tied_head=false", "model.norm_epsilon=1e-6",
                                  "model.attention_scale=0.3", "model.residual_dropout=0.1"}),
            "");
  EXPECT_EQ(words(Dialect::kMpt, {"model.heads=8", "model.slope_rule=geometric"}), "")
      << "the same slopes by another name";
  EXPECT_EQ(words(Dialect::kBloom, kBloom), "");
  EXPECT_EQ(words(Dialect::kGguf, {}), "");
  EXPECT_EQ(words(Dialect::kGguf, {"model.mlp_width=96", "model.attention_bias=true",
                                   "model.key_value_heads=2", "model.slope_bias_max=16"}),
            "");
  EXPECT_EQ(words(Dialect::kGguf, {"model.position=learned"}), "");
}

TEST(Targets, NameEveryKeyThatTheyIgnore) {
  const std::vector<std::pair<std::string, std::string>> mpt = {
      {"model.position=rotary", "model.position rotary"},
      {"model.position=sinusoidal", "model.position sinusoidal"},
      {"model.slope_bias_max=16", "slopes"},
      {"model.slope_rule=equal", "slopes"},
      {"model.slopes=[0.5,0.25,0.1,0.01]", "slopes"},
      {"model.learned_slopes=true", "slopes"},
      {"model.biased_heads=2", "slopes"},
      {"model.key_value_heads=2", "model.key_value_heads"},
      {"model.mlp_width=96", "model.mlp_width"},
      {"model.attention_bias=true", "model.attention_bias"},
      {"model.mlp_bias=true", "model.mlp_bias"},
      {"model.norm_bias=true", "model.norm_bias"},
      {"model.embedding_norm=true", "model.embedding_norm"},
      {"model.activation=gelu_tanh", "model.activation"}};
  for (const auto& [change, key] : mpt) {
    const std::string found = words(Dialect::kMpt, {change});
    EXPECT_EQ(found.rfind(key, 0), 0U) << change << ": " << found;
  }
  for (const std::string& change :
       {std::string("model.attention_bias=false"), std::string("model.embedding_norm=false"),
        std::string("model.activation=gelu"), std::string("model.attention_scale=0.3")}) {
    std::vector<std::string> changes = kBloom;
    changes.push_back(change);
    EXPECT_NE(words(Dialect::kBloom, changes), "") << change;
  }
  for (const char* change : {"model.position=t5", "model.embedding_norm=true",
                             "model.attention_scale=0.3", "model.learned_slopes=true"})
    EXPECT_NE(words(Dialect::kGguf, {change}), "") << change;
}

// None of them can say that a query sees some keys only.
TEST(Targets, HoldNoPatterns) {
  for (const Dialect target : {Dialect::kMpt, Dialect::kBloom, Dialect::kGguf, Dialect::kOwn}) {
    ModelConfig windowed = model(target == Dialect::kBloom ? kBloom : std::vector<std::string>());
    EXPECT_EQ(obstacles(target, windowed).size(), 0U) << name_of(target);
    windowed.attention_pattern = {"layers 0: window(64)"};
    EXPECT_EQ(obstacles(target, windowed).size(), 1U) << name_of(target);
  }
}

}  // namespace
}  // namespace alibi
