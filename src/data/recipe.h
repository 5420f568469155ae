// All that prepared text depends on.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/config.h"
#include "data/corpus.h"
#include "data/named_text.h"
#include "text/tokenizer.h"
#include "text/train_tokenizer.h"

namespace alibi {

// The tokenizer that a config asks for: one that exists, or one to be trained on the text.
struct TokenizerChoice {
  std::optional<Tokenizer> given;  // bytes, or what tokenizer.file names
  TokenizerTraining training;      // where none is given
};

// Reads tokenizer.file. Throws a usage Error at tokenizer.vocabulary where the file has another
// one, and at tokenizer.file where token ids come without the tokenizer that made them.
TokenizerChoice choose_tokenizer(const TokenizerConfig& config, TextKind kind);

// The given one, or one trained on the training side of the corpus; `note` takes lines for people
// and may be empty. Throws Error at "tokenizer" when the vocabulary does not fit the text.
Tokenizer make_tokenizer(const TokenizerChoice& choice, const Corpus& corpus,
                         const std::function<void(const std::string&)>& note);

// Throws a usage Error at the key that asks for another tokenizer than `tokenizer`, which the
// prepared folder `name` has. One that would be trained is compared by its vocabulary only.
void check_choice(const TokenizerConfig& config, const Tokenizer& tokenizer,
                  const std::string& name);

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
