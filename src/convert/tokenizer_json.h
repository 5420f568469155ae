// A sentencepiece model, or plain bytes, as the tokenizer.json of Hugging Face's tokenizers: the
// same ids for the same text (BPE and unigram, byte fallback, with or without a space in front).
#pragma once

#include <string>

#include "text/tokenizer.h"

namespace alibi {

// Throws Error for what that library cannot do alike: a space in front of every text together with
// user-defined pieces, between which it would put one more.
std::string tokenizer_json(const Tokenizer& tokenizer);

// Throws Error, naming it, for what gets other ids there all the same: before it is written.
void refuse_other_ids(const Tokenizer& tokenizer);

// What of a text may get other ids there all the same; "" for nothing.
std::string tokenizer_json_note(const Tokenizer& tokenizer);

// Loads tokenizer.json as it stands: no class of transformers' own rebuilds it.
// `longest` is the model_max_length.
std::string tokenizer_config_json(const Tokenizer& tokenizer, std::int64_t longest);

}  // namespace alibi
