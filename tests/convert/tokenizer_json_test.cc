// What tests/interop holds against tokenizers itself, as far as the file alone tells it.
#include "convert/tokenizer_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/error_text.h"
#include "support/sentencepiece_model.h"
#include "text/tokenizer.h"

namespace alibi {
namespace {

std::string exported(const TrainerOptions& options) {
  return tokenizer_json(Tokenizer::from_model(sentencepiece_model(options), "m"));
}

// tokenizers' Unigram model would find "<s>" and "<0x41>" where a text spells them out.
TEST(TokenizerJson, UnigramTextsAreCutInsideTheNamesOfOtherPieces) {
  const auto file = nlohmann::json::parse(
      exported({{"model_type", "unigram"}, {"byte_fallback", "true"}, {"vocab_size", "400"}}));
  const std::string pattern = file["pre_tokenizer"]["pattern"]["Regex"];
  for (const char* cut : {"\\<(?=s\\>)", "\\<(?=\\/s\\>)", "\\<(?=unk\\>)", "\\<(?=0x41\\>)"})
    EXPECT_NE(pattern.find(cut), std::string::npos) << cut;
  // The least score decides what an unknown character costs.
  double least = 0;
  for (const auto& piece : file["model"]["vocab"]) least = std::min(least, piece[1].get<double>());
  EXPECT_GT(least, -100);
}

TEST(TokenizerJson, UnigramModelsThatACutWouldChangeAreRefused) {
  const auto says = [](TrainerOptions options) {
    options["model_type"] = "unigram";
    return error_text([&] { exported(options); });
  };
  const TrainerOptions::value_type bytes{"byte_fallback", "true"}, size{"vocab_size", "400"};
  EXPECT_SAYS(says({bytes, size, {"control_symbols", "#"}}),
              "whose piece \"#\"");  // no place to cut
  EXPECT_SAYS(says({bytes, size, {"control_symbols", "anx"}}), "whose piece \"anx\"");
  EXPECT_SAYS(says({}), "whose piece \"</s>\"");  // would part two unknown characters
}

}  // namespace
}  // namespace alibi
