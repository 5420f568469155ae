// Keys and tensors out of a hostile file: every view lies inside the bytes.
#include "formats/gguf.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] {
    const auto bytes = alibi::as_bytes(data, size);
    for (const alibi::GgufTensor& tensor : alibi::parse_gguf(bytes, "file").tensors) {
      alibi::expect(tensor.bytes.size() == alibi::gguf_bytes(tensor), "a tensor of another size");
      if (tensor.bytes.empty()) continue;
      alibi::expect(tensor.bytes.data() >= bytes.data() &&
                        tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size(),
                    "a tensor lies outside its file");
    }
  });
}
