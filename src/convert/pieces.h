// A tokenizer's pieces, those of plain bytes included, as exports write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer_model.h"
#include "text/tokenizer.h"

namespace alibi {

// As many pieces as the vocabulary has ids. Bytes: <unk>, <s>, </s> and <0x00> to <0xFF>.
TokenizerModel tokenizer_pieces(const Tokenizer& tokenizer);

// A user-defined piece with a space in it: tokenizers and llama.cpp look for such a piece in text
// whose spaces are not yet, or already, U+2581. Empty: there is none.
std::string spaced_user_piece(const TokenizerModel& model);

// Pieces of that type, by id.
std::vector<std::string> pieces_of(const TokenizerModel& model, PieceType type);

// Whether a text may hold both with a part in common: which one is found then differs between
// programs that look for the longest first and those that go from left to right. Runs of one
// character, as of spaces, come out the same.
bool overlap(std::string_view first, std::string_view second);

}  // namespace alibi
