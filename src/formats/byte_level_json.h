// Reads tokenizer.json (of the tokenizers library) where it holds a byte-level BPE, as GPT-2, BLOOM
// and MPT have it: text is cut by patterns, each cut's bytes are written as characters of a table
// of 256, and pairs are merged in the order of a list.
//
// No regular expression is run here and no file is opened; text/byte_level.h encodes with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/parse.h"

namespace alibi {

// What such a file may ask of a reader.
inline constexpr JsonOptions kTokenizerJsonLimits{.depth = 12, .values = 8'000'000};

struct ByteMerge {
  std::int32_t left = 0, right = 0, merged = 0;
};

// A token that stands beside the vocabulary of the merges. Special ones are never read out of text.
struct AddedToken {
  std::string text;
  std::int32_t id = 0;
  bool special = false;
  bool normalized = false;  // looked for after normalization, not before it
};

struct ByteLevelModel {
  std::vector<std::string> pieces;    // by id: the bytes it stands for; "" for special and no token
  std::vector<ByteMerge> merges;      // first ones first
  std::vector<AddedToken> added;      // by id
  std::vector<std::string> patterns;  // in Oniguruma's syntax, one after another on the cuts
  bool compose = false;               // text is brought into normal form C first
  bool words_before_merges = false;   // a cut that is a piece is not built by merges
  std::int32_t end = 0;               // the special token that ends a document
};

// The pattern of GPT-2, which tokenizer.json implies where it names none.
extern const char* const kGpt2Pattern;

// Throws Error at `place`, naming the part, for anything else than such a tokenizer, and for one
// whose end token cannot be told: /alibi/end (the member that `alibi import` adds), else the
// special token <|endoftext|>, </s> or <eos>. Where that is known from elsewhere, `needs_end` is
// false and `end` may be -1.
ByteLevelModel parse_byte_level_json(std::string_view json, const std::string& place,
                                     bool needs_end = true);

// How such a file writes bytes: one character for each.
std::string byte_level_text(std::string_view bytes);

// The older pair of files as one tokenizer.json: vocab.json and merges.txt of GPT-2.
std::string byte_level_json_of(std::string_view vocab_json, std::string_view merges_text,
                               const std::string& place);

}  // namespace alibi
