// Tensors out of a hostile file: every view lies inside the bytes, none overlaps another.
#include "formats/safetensors.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] {
    const auto bytes = alibi::as_bytes(data, size);
    const alibi::SafetensorsContent content = alibi::parse_safetensors(bytes, "file");
    std::size_t sum = 0;
    for (const auto& [name, view] : content.tensors) {
      sum += view.bytes.size();
      if (view.bytes.empty()) continue;
      alibi::expect(view.bytes.data() >= bytes.data() &&
                        view.bytes.data() + view.bytes.size() <= bytes.data() + bytes.size(),
                    "a tensor lies outside its file");
    }
    alibi::expect(sum <= size, "tensors hold more bytes than their file");
  });
}
