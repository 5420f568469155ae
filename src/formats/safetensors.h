// safetensors: named tensors as plain bytes, nothing that could be executed.
//
//   bytes 0..7         N, little endian; N <= 100,000,000
//   bytes 8..8+N       JSON object, begins with '{', may end in spaces:
//                      {"__metadata__": {"key": "value"},
//                       "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//   bytes 8+N..end     the tensors, row major, little endian: no hole, no overlap, no tail
//
// Rules after safetensors/src/tensor.rs of the Rust reference; stricter in that duplicate and
// unknown names, a leading space and more than 64 dimensions are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace alibi {

// One tensor. `bytes` belongs to whoever made the view and need not be aligned.
struct TensorView {
  std::string dtype;                // F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL
  std::vector<std::int64_t> shape;  // {} is one value; a 0 makes it empty
  std::span<const std::byte> bytes;
};
using TensorViews = std::map<std::string, TensorView, std::less<>>;
using TensorMetadata = std::map<std::string, std::string, std::less<>>;

// Bytes of one value, or nothing for a type outside the list above.
std::optional<std::size_t> dtype_width(std::string_view dtype);

struct SafetensorsContent {
  TensorViews tensors;  // views into the parsed bytes
  TensorMetadata metadata;
};

// Checks every rule before it returns; `place` (the file) heads an Error, which names the tensor.
SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& place);

// A file mapped into memory and checked as a whole. Its views live as long as it does.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const TensorView* find(std::string_view name) const;  // nullptr when it is not there
  const TensorViews& tensors() const { return content_.tensors; }
  const TensorMetadata& metadata() const { return content_.metadata; }

 private:
  MappedFile file_;
  SafetensorsContent content_;
};

struct SafetensorsDigests {
  std::uint64_t bytes = 0;                                  // length of the whole file
  std::string file;                                         // its SHA-256
  std::map<std::string, std::string, std::less<>> tensors;  // SHA-256 of each tensor's bytes
};

// Gives the bytes of one tensor when its turn comes; they stay good until the next call.
using TensorSource = std::function<std::span<const std::byte>(const std::string& name)>;

// Writes and fsyncs `path`. The header ends on a multiple of 8 and wider types come first, so every
// tensor is aligned. With a source the `bytes` in the views are not looked at.
SafetensorsDigests write_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                                     const TensorMetadata& metadata = {});
SafetensorsDigests write_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                                     const TensorMetadata& metadata, const TensorSource& source);

// For several processes that write one file: its header, and as many zeros as the tensors take, to
// be overwritten from `tensor_offsets` on.
void begin_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                       const TensorMetadata& metadata);
std::map<std::string, std::uint64_t, std::less<>> tensor_offsets(const TensorViews& tensors,
                                                                 const TensorMetadata& metadata);
// Of a file that is written; what write_safetensors returns.
SafetensorsDigests safetensors_digests(const std::filesystem::path& path);

}  // namespace alibi
