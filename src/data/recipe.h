// All that prepared text depends on.
#pragma once

#include <string>

#include "data/named_text.h"
#include "data/tokenizer_choice.h"

namespace alibi {

struct Recipe {
  NamedText text;  // kText or kTokens
  double valid_fraction = 0;
  TokenizerChoice tokenizer;
};

// The name of its folder in the cache: a hash of the content of all files, the tokenizer and the
// hold-out rule, not of the files' names. Reads all files; throws Error where one cannot be read,
// and when a signal asks to stop.
std::string cache_name(const Recipe& recipe);

}  // namespace alibi
