// Token ids of other trainers: each id can be read and documents lie inside, or the file is
// refused. The first two bytes cut the input into NAME.bin and NAME.idx; 0: there is no index.
#include "formats/token_file.h"
#include "fuzz/input_file.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const alibi::InputFile ids(".bin"), index(".idx", ids);
  const std::size_t cut = std::min<std::size_t>(data[0] + 256 * data[1], size - 2);
  ids.put(data + 2 + cut, size - 2 - cut);
  if (cut > 0) {
    index.put(data + 2, cut);
  } else {
    index.remove();
  }
  return alibi::read_or_refuse([&] {
    const alibi::TokenFile file(ids.path());
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < file.size(); ++i) sum += file[i] % 2;
    alibi::expect(sum <= file.size(), "more odd ids than ids");
    if (!file.documents()) return;
    std::int64_t last = 0;
    for (const std::int64_t start : *file.documents()) {
      alibi::expect(start >= last && start <= file.size(), "documents out of order or outside");
      last = start;
    }
  });
}
