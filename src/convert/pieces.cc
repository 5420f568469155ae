#include "convert/pieces.h"

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

}  // namespace alibi
