// Reads and writes a serialized sentencepiece model (Protocol Buffers wire format,
// sentencepiece_model.proto), so that a damaged or crafted file is refused before the library sees
// it, and so that exports know every piece. Field numbers stand in the .cc file; unknown fields are
// skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

enum class PieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
enum class PieceModel { kUnigram = 1, kBpe, kWord, kCharacter };

struct TokenizerPiece {
  std::string text;  // valid UTF-8, not empty; a space is U+2581
  float score = 0;   // finite
  PieceType type = PieceType::kNormal;
};

struct TokenizerModel {
  std::vector<TokenizerPiece> pieces;
  PieceModel kind = PieceModel::kUnigram;
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  std::string normalizer;           // its name, for messages
  bool changes_characters = false;  // it or a denormalizer has a table of replacements
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// Throws Error at `place` for anything that is no such model.
TokenizerModel parse_tokenizer_model(std::string_view serialized, const std::string& place);

// What parses as the same model; characters stay as they are.
std::string write_tokenizer_model(const TokenizerModel& model);

}  // namespace alibi
