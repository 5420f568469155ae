// Tokenizers whose texts llama.cpp would cut otherwise are refused. Tried in llama.cpp with the
// wheel of scripts/setup --verify: another space behind "\n", and "bcd" found in "abcd" first.
#include "convert/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "formats/tokenizer_model.h"
#include "support/error_text.h"
#include "support/sentencepiece_model.h"
#include "support/small_byte_level.h"

namespace alibi {
namespace {

std::string obstacles(const std::string& model) {
  return join(gguf_tokenizer_obstacles(Tokenizer::from_model(model, "t")), "; ");
}

std::string with_pieces(const std::string& pieces, const char* prefix = "false") {
  return obstacles(sentencepiece_model({{"byte_fallback", "true"},
                                        {"vocab_size", "600"},
                                        {"add_dummy_prefix", prefix},
                                        {"user_defined_symbols", pieces}}));
}

std::string with_added(const std::vector<std::string>& added) {
  nlohmann::json json = small_byte_level();
  for (const std::string& text : added)
    json["added_tokens"].push_back(
        {{"id", 262 + json["added_tokens"].size()}, {"content", text}, {"special", false}});
  return obstacles(json.dump());
}

TEST(GgufTokenizer, PiecesThatMayOverlapAreRefused) {
  EXPECT_EQ(with_pieces("ab,cd,ef"), "");
  EXPECT_EQ(with_pieces("##,###"), "") << "runs of one character come out the same";
  EXPECT_NAMES(with_pieces("ab,bcd"), "\"ab\"", "\"bcd\"");
  EXPECT_EQ(with_added({"  ", "    ", "xy"}), "");
  EXPECT_NAMES(with_added({"xyz", "wxy"}), "\"wxy\"", "\"xyz\"");
}

// Tried in llama.cpp: "<|im_end|>" in a text came as ten tokens, unused pieces as they are, "abc"
// in "xabcx" before "ab". All seen failing: they were exported without a word.
TEST(GgufTokenizer, WhatLlamaCppReadsOtherwiseIsRefused) {
  EXPECT_NAMES(with_pieces("<|im_end|>"), "\"<|im_end|>\"", "marker");
  EXPECT_NAMES(with_added({"<|fim_prefix|>"}), "\"<|fim_prefix|>\"", "marker");
  TokenizerModel model = parse_tokenizer_model(
      sentencepiece_model({{"byte_fallback", "true"}, {"vocab_size", "600"}}), "t");
  model.pieces.back().type = PieceType::kUnused;
  EXPECT_NAMES(obstacles(write_tokenizer_model(model)), "unused");
  nlohmann::json json = small_byte_level();
  const auto add = [&](const char* text, bool normalized) {
    json["added_tokens"].push_back({{"id", 262 + json["added_tokens"].size()},
                                    {"content", text},
                                    {"special", false},
                                    {"normalized", normalized}});
  };
  add("ab", false);
  EXPECT_EQ(obstacles(json.dump()), "");
  add("abc", true);
  EXPECT_NAMES(obstacles(json.dump()), "\"ab\"", "\"abc\"");
}

TEST(GgufTokenizer, ASpaceInFrontAndUserDefinedPiecesAreRefusedTogether) {
  EXPECT_EQ(with_pieces("", "true"), "");
  EXPECT_NAMES(with_pieces("##", "true"), "space", "\"##\"");
}

}  // namespace
}  // namespace alibi
