// A byte-level tokenizer.json out of a hostile file: every id lies inside, every pattern that
// compiles ends, and what it encodes comes back as it was.
#include "formats/byte_level_json.h"
#include "fuzz/fuzz.h"
#include "text/byte_level.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] {
    const alibi::ByteLevelModel model =
        alibi::parse_byte_level_json(alibi::as_text(data, size), "file");
    const auto ids = static_cast<std::int32_t>(model.pieces.size());
    for (const alibi::ByteMerge& merge : model.merges)
      alibi::expect(merge.left < ids && merge.right < ids && merge.merged < ids, "an id outside");
    alibi::expect(model.end >= 0 && model.end < ids, "an end outside");
    const alibi::ByteLevelBpe bpe(model, "file");
    const std::string text = "A text,  with 12 words\n\n and \xff bytes.";
    std::string back;
    alibi::WordMemory memory;
    for (const std::int32_t id : bpe.encode(text, memory))
      back += model.pieces.at(static_cast<std::size_t>(id));
    alibi::expect(model.compose || back == text, "text that does not come back");
  });
}
