#include <algorithm>
#include <cstring>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "formats/safetensors.h"

namespace alibi {
namespace {

using Entry = TensorViews::value_type;

std::uint64_t byte_size(const TensorView& tensor) {
  std::uint64_t size = *dtype_width(tensor.dtype);
  for (const std::int64_t dimension : tensor.shape) {
    ensure(dimension >= 0, "a tensor's dimensions are not negative");
    ensure(!__builtin_mul_overflow(size, static_cast<std::uint64_t>(dimension), &size),
           "a tensor's size fits 64 bits");
  }
  return size;
}

// Wider types first, then by name: then every tensor lies on a multiple of its value's width.
std::vector<const Entry*> file_order(const TensorViews& tensors) {
  std::vector<const Entry*> order;
  for (const Entry& entry : tensors) {
    ensure(dtype_width(entry.second.dtype).has_value(), "a tensor to write has a known dtype");
    ensure(entry.first != "__metadata__", "a tensor's name is not the reserved one");
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return *dtype_width(a->second.dtype) > *dtype_width(b->second.dtype);
  });
  return order;
}

// The header behind its length.
std::string head(const std::vector<const Entry*>& order, const TensorMetadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) {
    Json& pairs = header["__metadata__"];
    for (const auto& [key, value] : metadata) pairs.append(key, value);
  }
  std::uint64_t offset = 0;
  for (const Entry* entry : order) {
    const auto& [name, tensor] = *entry;
    const std::uint64_t end = offset + byte_size(tensor);
    header.append(name, {{"dtype", tensor.dtype},
                         {"shape", tensor.shape},
                         {"data_offsets", Json::list({offset, end})}});
    offset = end;
  }
  std::string text = write_json(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

}  // namespace

SafetensorsDigests write_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                                     const TensorMetadata& metadata, const TensorSource& source) {
  const std::vector<const Entry*> order = file_order(tensors);
  const std::string header = head(order, metadata);
  OutputFile file(path);
  Sha256 digest;
  SafetensorsDigests digests;
  const auto put = [&](std::span<const std::byte> bytes) {
    file.write(bytes);
    digest.update(bytes);
    digests.bytes += bytes.size();
  };
  put(std::as_bytes(std::span(header)));
  for (const Entry* entry : order) {
    const auto bytes = source(entry->first);
    ensure(bytes.size() == byte_size(entry->second), "a tensor's bytes match its shape");
    put(bytes);
    digests.tensors.emplace(entry->first, sha256_hex(bytes));
  }
  file.sync();
  file.close();
  digests.file = digest.hex();
  return digests;
}

SafetensorsDigests write_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                                     const TensorMetadata& metadata) {
  return write_safetensors(path, tensors, metadata, [&tensors](const std::string& name) {
    return tensors.find(name)->second.bytes;
  });
}

std::map<std::string, std::uint64_t, std::less<>> tensor_offsets(const TensorViews& tensors,
                                                                 const TensorMetadata& metadata) {
  const std::vector<const Entry*> order = file_order(tensors);
  std::map<std::string, std::uint64_t, std::less<>> offsets;
  std::uint64_t offset = head(order, metadata).size();
  for (const Entry* entry : order) {
    offsets.emplace(entry->first, offset);
    offset += byte_size(entry->second);
  }
  return offsets;
}

void begin_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                       const TensorMetadata& metadata) {
  const std::vector<const Entry*> order = file_order(tensors);
  const std::string header = head(order, metadata);
  std::uint64_t size = header.size();
  for (const Entry* entry : order) size += byte_size(entry->second);
  OutputFile file(path);
  file.write(header);
  constexpr std::byte kZero{0};
  if (size > header.size()) file.overwrite(size - 1, std::span(&kZero, 1));
  file.close();
}

SafetensorsDigests safetensors_digests(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  SafetensorsDigests digests;
  digests.bytes = std::filesystem::file_size(path);
  digests.file = sha256_file(path);
  for (const auto& [name, tensor] : file.tensors())
    digests.tensors.emplace(name, sha256_hex(tensor.bytes));
  return digests;
}

}  // namespace alibi
