#include "text/sentencepiece_model.h"

#include <set>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

// sentencepiece reads up to this many nested user-defined pieces into a buffer on its stack.
constexpr std::size_t kMostNested = 64;

void check_specials(const TokenizerModel& model, const std::string& place) {
  const auto type = [&](std::size_t id) {
    return id < model.pieces.size() ? model.pieces[id].type : PieceType::kUnused;
  };
  if (type(0) != PieceType::kUnknown || type(1) != PieceType::kControl ||
      type(2) != PieceType::kControl) {
    throw Error(place, "ids 0, 1, 2 are not unknown, begin and end",
                "train the model with unk_id=0, bos_id=1, eos_id=2");
  }
}

void check_spelling(const TokenizerModel& model, const std::string& place) {
  if (model.kind != PieceModel::kBpe && model.kind != PieceModel::kUnigram) {
    throw Error(place, "is a word or character model", "expected model type bpe or unigram");
  }
  if (model.changes_characters) {
    throw Error(
        place,
        cat("changes characters before reading them (normalization \"", model.normalizer, "\")"),
        "train it with normalization_rule_name=identity");
  }
  if (model.remove_extra_whitespaces || !model.escape_whitespaces || model.whitespace_as_suffix) {
    throw Error(
        place, "drops or moves spaces, so text would not survive it",
        "train it with remove_extra_whitespaces=false and without treat_whitespace_as_suffix");
  }
}

void check_pieces(const TokenizerModel& model, const std::string& place) {
  std::set<std::string_view> user_defined;
  for (const TokenizerPiece& piece : model.pieces) {
    if (piece.type == PieceType::kUserDefined) user_defined.insert(piece.text);
    if (piece.type == PieceType::kByte && !is_byte_piece(piece.text)) {
      throw Error(place, cat("byte piece \"", piece.text, "\""), "expected <0x00> to <0xFF>");
    }
  }
  for (const std::string_view piece : user_defined) {
    std::size_t nested = 0;
    for (std::size_t size = 1; size <= piece.size() && nested <= kMostNested; ++size) {
      nested += user_defined.count(piece.substr(0, size));
    }
    if (nested > kMostNested)
      throw Error(place, cat("more than ", kMostNested, " nested user-defined pieces"));
  }
}

}  // namespace

bool is_byte_piece(const std::string& text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return text.size() == 6 && text.starts_with("<0x") && digit(text[3]) && digit(text[4]) &&
         text[5] == '>';
}

void check_sentencepiece(const TokenizerModel& model, const std::string& place) {
  check_specials(model, place);
  check_spelling(model, place);
  check_pieces(model, place);
}

std::string surface_of(const TokenizerPiece& piece) {
  if (piece.type == PieceType::kUnknown || piece.type == PieceType::kControl) return "";
  if (piece.type == PieceType::kByte) {  // "<0xAB>"
    return std::string(1, static_cast<char>(std::stoi(piece.text.substr(3, 2), nullptr, 16)));
  }
  std::string text;
  std::string_view rest = piece.text;
  while (!rest.empty()) {
    const bool space = rest.starts_with(kSpace);
    text += space ? ' ' : rest[0];
    rest.remove_prefix(space ? kSpace.size() : 1);
  }
  return text;
}

Borders find_borders(const TokenizerModel& model) {
  bool newline = model.byte_fallback;
  bool space = model.byte_fallback;
  // A space put in front of a text is the one that a stretch behind a border begins with.
  const bool unprefixed = !model.add_dummy_prefix, is_bpe = model.kind == PieceModel::kBpe;
  Borders borders{unprefixed, unprefixed || is_bpe, !is_bpe};
  for (const TokenizerPiece& piece : model.pieces) {
    const bool stays = piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
    // Unused ones are merged, too, and then taken apart.
    if (!stays && piece.type != PieceType::kUnused) continue;
    newline = newline || (stays && piece.text == "\n");
    space = space || (stays && piece.text == kSpace);
    const std::size_t line = piece.text.find('\n');
    if (line != std::string::npos && line + 1 < piece.text.size()) borders.after_line = false;
    std::size_t letters = 0;  // leading spaces end here; none may follow
    while (std::string_view(piece.text).substr(letters).starts_with(kSpace))
      letters += kSpace.size();
    if (piece.text.find(kSpace, letters) != std::string::npos) borders.before_space = false;
  }
  borders.after_line = borders.after_line && newline;
  borders.before_space = borders.before_space && space;
  return borders;
}

}  // namespace alibi
