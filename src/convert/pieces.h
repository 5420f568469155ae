// A tokenizer's pieces, those of plain bytes included, as exports write them.
#pragma once

#include <string>

#include "formats/tokenizer_model.h"
#include "text/tokenizer.h"

namespace alibi {

// As many pieces as the vocabulary has ids. Bytes: <unk>, <s>, </s> and <0x00> to <0xFF>.
TokenizerModel tokenizer_pieces(const Tokenizer& tokenizer);

// A user-defined piece with a space in it: tokenizers and llama.cpp look for such a piece in text
// whose spaces are not yet, or already, U+2581. Empty: there is none.
std::string spaced_user_piece(const TokenizerModel& model);

}  // namespace alibi
