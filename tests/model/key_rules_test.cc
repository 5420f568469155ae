// hides_keys_within beside the mask that the formula makes.
#include "model/key_rules.h"

#include <gtest/gtest.h>

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
                              "fixed(8, 64)",
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

}  // namespace
}  // namespace alibi
