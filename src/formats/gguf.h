// GGUF version 3, llama.cpp's file: typed keys, then tensors. Little endian throughout.
//
//   "GGUF", u32 3, u64 tensors, u64 keys
//   key:     string, u32 type, value   (string: u64 bytes, then they; array: u32 type, u64 count)
//   tensor:  string (under 64 bytes), u32 dimensions (1 to 4), u64 each, innermost first,
//            u32 element type, u64 offset from the start of the data, a multiple of 32
//   padding to a multiple of 32, then the data, every tensor padded likewise
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/mapped_file.h"

namespace alibi {

// Element types, by their numbers in the file. Q8_0: blocks of 32, an fp16 scale and 32 int8.
enum class GgufElement : std::uint32_t { kF32 = 0, kF16 = 1, kQ8 = 8, kBf16 = 30 };

using GgufValue =
    std::variant<bool, std::uint32_t, std::int32_t, float, std::string, std::vector<std::string>,
                 std::vector<float>, std::vector<std::int32_t>>;
using GgufKeys = std::vector<std::pair<std::string, GgufValue>>;  // written in this order

struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // as ours: outermost first
  GgufElement element = GgufElement::kF32;
  std::span<const std::byte> bytes;  // when read; writing asks a source for them
};

// Bytes of a tensor's data. The innermost dimension of Q8_0 must be a multiple of 32.
std::uint64_t gguf_bytes(const GgufTensor& tensor);

using GgufSource = std::function<std::span<const std::byte>(const std::string& name)>;

// Writes and fsyncs `path`; the source is asked for one tensor at a time, in order.
void write_gguf(const std::filesystem::path& path, const GgufKeys& keys,
                const std::vector<GgufTensor>& tensors, const GgufSource& source);

struct GgufContent {
  std::map<std::string, GgufValue, std::less<>> keys;  // of the types above; others are skipped
  std::vector<GgufTensor> tensors;                     // views into the parsed bytes
};

// Checks every count, length and offset before it uses it. Throws Error headed by `place`.
GgufContent parse_gguf(std::span<const std::byte> bytes, const std::string& place);

class GgufFile {
 public:
  explicit GgufFile(const std::filesystem::path& path)
      : file_(path), content_(parse_gguf(file_.bytes(), path.string())) {}
  const GgufContent& content() const { return content_; }

 private:
  MappedFile file_;
  GgufContent content_;
};

}  // namespace alibi
