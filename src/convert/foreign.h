// A model out of other programs' files, in our terms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/tensors.h"
#include "config/config.h"

namespace alibi {

struct ForeignModel {
  ModelConfig model;                // resolved
  std::int64_t vocabulary = 0;      // rows of the embedding
  std::int64_t longest = 0;         // tokens it says to be used with; 0: it does not say
  std::int64_t trained = 0;         // tokens of the sequences it was trained on; 0: unknown
  std::optional<std::int64_t> end;  // its id of the token that ends a document
  Tensors weights;                  // fp32, by our names
  std::string tokenizer_model;     // sentencepiece model or tokenizer.json; "": the files hold none
  std::string tokenizer_file;      // its name
  std::vector<std::string> notes;  // what is not taken over, or not as its own program reads it
};

}  // namespace alibi
