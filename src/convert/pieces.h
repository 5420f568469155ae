// A tokenizer's pieces, those of plain bytes included, as exports write them.
#pragma once

#include "formats/tokenizer_model.h"
#include "text/tokenizer.h"

namespace alibi {

// As many pieces as the vocabulary has ids. Bytes: <unk>, <s>, </s> and <0x00> to <0xFF>.
TokenizerModel tokenizer_pieces(const Tokenizer& tokenizer);

}  // namespace alibi
