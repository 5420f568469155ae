// What a sentencepiece model must be like to be used here, and what follows from its pieces.
#pragma once

#include <string>
#include <string_view>

#include "formats/tokenizer_model.h"

namespace alibi {

inline constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581, how a model writes a space

// Throws Error at `place` unless it is a BPE or unigram model without character changes, with ids 0
// unknown, 1 begin, 2 end.
void check_sentencepiece(const TokenizerModel& model, const std::string& place);

bool is_byte_piece(const std::string& text);  // "<0xAB>"

// The bytes of text that a piece stands for; "" for specials.
std::string surface_of(const TokenizerPiece& piece);

// Where encoding may start afresh: no piece reaches over the border, and the characters at the
// border are known (runs of unknown ones become a single token).
struct Borders {
  bool after_line = false;  // behind "\n"
  // Between something else and a space; where the model puts a space in front of every text, what
  // follows is encoded without this one.
  bool before_space = false;
  // Sums of scores are rounded otherwise over a stretch than over the whole text, so that of equal
  // ones another may win: only a text that is too long for memory is cut.
  bool only_if_long = false;
};

Borders find_borders(const TokenizerModel& model);

}  // namespace alibi
