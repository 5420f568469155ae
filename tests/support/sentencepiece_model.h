// Tokenizers made by other people's settings, trained on small_text.
#pragma once

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "support/small_text.h"

namespace alibi {

using TrainerOptions = std::unordered_map<std::string, std::string>;

// What the options leave open: 200 tokens at most of BPE that changes no character.
inline std::string sentencepiece_model(const TrainerOptions& options,
                                       const std::string& text = small_text(50'000)) {
  TrainerOptions all = {{"model_type", "bpe"},
                        {"vocab_size", "200"},
                        {"normalization_rule_name", "identity"},
                        {"minloglevel", "3"},
                        {"remove_extra_whitespaces", "false"},
                        {"hard_vocab_limit", "false"}};
  for (const auto& [key, value] : options) all[key] = value;
  std::vector<std::string> lines;
  std::string model;
  for (std::size_t at = 0; at < text.size(); at += 500) lines.push_back(text.substr(at, 500));
  EXPECT_TRUE(sentencepiece::SentencePieceTrainer::Train(all, lines, &model).ok());
  return model;
}

}  // namespace alibi
