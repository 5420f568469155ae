// A tokenizer of 600 tokens trained on small_text, made once per test program.
#pragma once

#include <string>

#include "support/small_text.h"
#include "text/tokenizer.h"
#include "text/train_tokenizer.h"

namespace alibi {

inline TextSource text_source(const std::string& text) {
  return {static_cast<std::int64_t>(text.size()), [text](const auto& take) { take(text); }};
}

inline const std::string& small_model() {
  static const std::string model =
      train_tokenizer(text_source(small_text(200'000)),
                      {.vocabulary = 600, .sample_bytes = 1 << 20, .progress = {}}, "test");
  return model;
}

inline Tokenizer small_tokenizer() { return Tokenizer::from_model(small_model(), "test"); }

}  // namespace alibi
