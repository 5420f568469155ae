// A sentencepiece model out of a hostile file: pieces are valid text, or it is refused.
#include <cmath>

#include "formats/tokenizer_model.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] {
    const alibi::TokenizerModel model =
        alibi::parse_tokenizer_model(alibi::as_text(data, size), "file");
    alibi::expect(!model.pieces.empty(), "a model without pieces");
    for (const alibi::TokenizerPiece& piece : model.pieces)
      alibi::expect(!piece.text.empty() && std::isfinite(piece.score), "a piece that is none");
  });
}
