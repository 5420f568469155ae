// Packed text: what comes out is bounded by what its kind can pack, or the file is refused. The
// first byte chooses gzip, xz or zstd.
#include "fuzz/input_file.h"
#include "text/packed_text.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  static const alibi::InputFile files[] = {alibi::InputFile(".txt.gz"), alibi::InputFile(".txt.xz"),
                                           alibi::InputFile(".txt.zst")};
  const alibi::InputFile& file = files[data[0] % 3];
  file.put(data + 1, size - 1);
  return alibi::read_or_refuse([&] {
    alibi::PackedText packed(file.path());
    std::string text;
    std::size_t all = 0;
    for (std::size_t before = 0; packed.read(text) && all < (16U << 20); before = text.size()) {
      alibi::expect(text.size() >= before && text.size() - before <= (1U << 20),
                    "too much at once");
      all = text.size();
    }
  });
}
