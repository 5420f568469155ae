// Rules that a config makes: what they hide, and what is drawn.
#include "model/key_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config/key_pattern.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

bool masks_an_earlier_key(const ModelConfig& model, std::int64_t length) {
  VisibleKeys keys;
  keys.rules = key_rules(model, 0, length);
  const torch::Tensor hidden =
      keys.hidden({.queries = length, .keys = length, .first = 0, .count = length, .seen = length},
                  torch::kCPU);
  return hidden.tril().any().item<bool>();
}

TEST(KeyRules, HideAKeyWhereTheMaskDoes) {
  ModelConfig model;
  model.layers = model.heads = 1;
  model.width = 8;
  for (const char* pattern : {"all",
                              "window(127)",
                              "window(128)",
                              "window(129)",
                              "window(126) + global(1)",
                              "window(126) + global(2)",
                              "dilated(128, 1)",
                              "dilated(128, 2)",
                              "strided(1)",
                              "strided(2)",
                              "fixed(8, 7)",
                              "fixed(8, 8)",
                              "fixed(127, 1)",
                              "fixed(128, 1)",
                              "blockwise(64)",
                              "blockwise(128)",
                              "random(1)",
                              "random(100000)",
                              "window(1) + blockwise(128)",
                              "window(3) + global(2) + random(1)"}) {
    model.attention_pattern = {pattern};
    for (const std::int64_t length : {64, 127, 128, 192, 200})
      EXPECT_EQ(hides_keys_within(model, length), masks_an_earlier_key(model, length))
          << pattern << " " << length;
  }
}

// Random blocks: so many different earlier ones and the block itself, drawn anew for each layer,
// head and block; more keys change none of them. Seen failing with one draw for all heads.
TEST(KeyRules, DrawBlocksForEachLayerAndHead) {
  ModelConfig model;
  model.layers = model.heads = 2;
  model.width = 8;
  model.attention_pattern = {"random(3)"};
  const auto list = [&](std::int64_t layer, std::size_t head, std::int64_t blocks) {
    const auto rules = key_rules(model, layer, 64 * blocks);
    const BlockList& all = rules->rules().at(head).list;
    EXPECT_EQ(all.rows, blocks);
    return std::vector<std::int64_t>(all.blocks, all.blocks + all.begin[blocks]);
  };
  const auto first = list(0, 0, 40);
  const auto longer = list(0, 0, 50);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin()));
  EXPECT_NE(first, list(0, 1, 40));
  EXPECT_NE(first, list(1, 0, 40));
  EXPECT_NE(list(0, 1, 40), list(1, 1, 40));
  std::size_t next = 0;
  for (std::int64_t row = 0; row < 40; ++row) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(row, 3) + 1);
    const std::set<std::int64_t> own(first.begin() + static_cast<std::ptrdiff_t>(next),
                                     first.begin() + static_cast<std::ptrdiff_t>(next + count));
    EXPECT_EQ(own.size(), count) << "different ones";
    EXPECT_EQ(*own.rbegin(), row);
    next += count;
  }
  EXPECT_EQ(next, first.size());
}

}  // namespace
}  // namespace alibi
