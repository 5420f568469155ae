// A model out of other programs' files, in our terms.
#pragma once

#include <string>

#include "checkpoint/tensors.h"
#include "config/config.h"

namespace alibi {

struct ForeignModel {
  ModelConfig model;  // resolved
  std::int64_t vocabulary = 0;
  Tensors weights;              // fp32, by our names
  std::string tokenizer_model;  // a sentencepiece model; "" where the files hold none
};

}  // namespace alibi
