// A model out of other programs' files, in our terms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/tensors.h"
#include "config/config.h"

namespace alibi {

struct ForeignModel {
  ModelConfig model;                // resolved
  std::int64_t vocabulary = 0;      // rows of the embedding
  std::int64_t longest = 0;         // tokens it says to be used with; 0: it does not say
  std::optional<std::int64_t> end;  // its id of the token that ends a document
  Tensors weights;                  // fp32, by our names
  std::string tokenizer_model;  // sentencepiece model or tokenizer.json; "": the files hold none
};

}  // namespace alibi
