#include "convert/pieces.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "text/sentencepiece_model.h"

namespace alibi {
namespace {

TokenizerModel byte_pieces() {
  TokenizerModel model;
  model.kind = PieceModel::kBpe;
  model.byte_fallback = true;
  model.add_dummy_prefix = false;
  model.remove_extra_whitespaces = false;
  model.escape_whitespaces = false;
  model.pieces = {{"<unk>", 0, PieceType::kUnknown},
                  {"<s>", 0, PieceType::kControl},
                  {"</s>", 0, PieceType::kControl}};
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "<0x%02X>", byte);
    model.pieces.push_back({text.data(), 0, PieceType::kByte});
  }
  return model;
}

}  // namespace

TokenizerModel tokenizer_pieces(const Tokenizer& tokenizer) {
  return tokenizer.is_bytes() ? byte_pieces()
                              : parse_tokenizer_model(tokenizer.model(), "tokenizer.model");
}

std::string spaced_user_piece(const TokenizerModel& model) {
  for (const TokenizerPiece& piece : model.pieces) {
    const bool spaced =
        piece.text.find(' ') != std::string::npos || piece.text.find(kSpace) != std::string::npos;
    if (piece.type == PieceType::kUserDefined && spaced) return piece.text;
  }
  return "";
}

std::vector<std::string> pieces_of(const TokenizerModel& model, PieceType type) {
  std::vector<std::string> texts;
  for (const TokenizerPiece& piece : model.pieces)
    if (piece.type == type) texts.push_back(piece.text);
  return texts;
}

bool overlap(std::string_view first, std::string_view second) {
  const auto is_run = [&](std::string_view text) {
    return text.find_first_not_of(text.front()) == std::string_view::npos;
  };
  if (is_run(first) && is_run(second)) return false;
  for (std::size_t common = 1; common < std::min(first.size(), second.size()); ++common)
    if (first.ends_with(second.substr(0, common))) return true;
  return false;
}

}  // namespace alibi
