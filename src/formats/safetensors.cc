#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/json/parse.h"
#include "base/json/reader.h"
#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr std::uint64_t kLongestHeader = 100'000'000;  // as the Rust reference
constexpr std::size_t kMostDimensions = 64;            // what LibTorch can iterate over
constexpr JsonOptions kHeaderLimits{.depth = 3, .values = 1'000'000};

struct Placed {
  std::uint64_t begin;
  std::uint64_t end;
  std::string name;
};

std::string tensor_place(const std::string& place, std::string_view name) {
  return cat(place, ": tensor ", shown(name));
}

std::string_view header_text(std::span<const std::byte> bytes, const std::string& place) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    throw Error(place, cat("is ", bytes.size(), " bytes long, too short for a safetensors file"));
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kLongestHeader) {
    throw Error(place, cat("claims a header of ", length, " bytes, more than ", kLongestHeader));
  }
  if (length > bytes.size() - sizeof length) {
    throw Error(place, cat("claims a header of ", length, " bytes, but ends before it"));
  }
  const auto* start = reinterpret_cast<const char*>(bytes.data()) + sizeof length;
  const std::string_view text(start, static_cast<std::size_t>(length));
  if (const std::size_t bad = first_invalid_utf8(text); bad != text.npos) {
    throw Error(place, cat("header is not valid UTF-8 at byte ", bad));
  }
  return text;
}

// Bytes of a tensor, from checked products only. A zero does not excuse the other dimensions:
// strides are products of them.
std::uint64_t checked_size(const TensorView& tensor, const std::string& place) {
  std::int64_t size = static_cast<std::int64_t>(*dtype_width(tensor.dtype));
  bool empty = false;
  for (const std::int64_t dimension : tensor.shape) {
    empty = empty || dimension == 0;
    if (__builtin_mul_overflow(size, std::max<std::int64_t>(dimension, 1), &size)) {
      throw Error(place, "the product of its shape overflows");
    }
  }
  return empty ? 0 : static_cast<std::uint64_t>(size);
}

std::vector<std::int64_t> parse_shape(const JsonReader& json) {
  std::vector<std::int64_t> shape;
  for (const JsonReader& dimension : json.items()) shape.push_back(dimension.count());
  if (shape.size() > kMostDimensions)
    json.fail(cat("has ", shape.size(), " dimensions, more than ", kMostDimensions));
  return shape;
}

TensorView parse_tensor(const JsonReader& json, Placed& placed) {
  json.refuse_unknown({"dtype", "shape", "data_offsets"});
  TensorView tensor;
  tensor.dtype = json.at("dtype").text();
  if (!dtype_width(tensor.dtype)) json.at("dtype").fail("unknown dtype " + shown(tensor.dtype));
  tensor.shape = parse_shape(json.at("shape"));
  const JsonReader offsets = json.at("data_offsets");
  const std::vector<JsonReader> ends = offsets.items();
  if (ends.size() != 2) offsets.fail(cat("found ", ends.size(), " numbers, expected 2"));
  placed.begin = static_cast<std::uint64_t>(ends[0].count());
  placed.end = static_cast<std::uint64_t>(ends[1].count());
  if (placed.end < placed.begin) offsets.fail("the end lies before the begin");
  const std::uint64_t size = checked_size(tensor, json.place());
  if (placed.end - placed.begin != size)
    json.fail(cat("takes ", placed.end - placed.begin, " bytes, but its shape needs ", size));
  return tensor;
}

TensorMetadata parse_metadata(const JsonReader& json) {
  TensorMetadata metadata;
  for (const auto& [key, value] : json.members()) metadata.emplace(key, value.text());
  return metadata;
}

// Each tensor begins where the one before it ended, and the last one ends the file.
void check_layout(std::vector<Placed>& layout, std::uint64_t data_size, const std::string& place) {
  std::sort(layout.begin(), layout.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const Placed& tensor : layout) {
    if (tensor.begin != end) {
      throw Error(tensor_place(place, tensor.name),
                  cat("begins at byte ", tensor.begin,
                      ", which leaves a hole or overlaps: expected ", end));
    }
    end = tensor.end;
    if (end > data_size) {
      throw Error(tensor_place(place, tensor.name),
                  cat("ends at byte ", end, ", beyond the file's ", data_size, " bytes of data"));
    }
  }
  if (end != data_size) {
    throw Error(place, cat("holds ", data_size - end, " bytes behind its last tensor"));
  }
}

}  // namespace

std::optional<std::size_t> dtype_width(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::size_t>, 10> kWidths{{{"F64", 8},
                                                                              {"F32", 4},
                                                                              {"F16", 2},
                                                                              {"BF16", 2},
                                                                              {"I64", 8},
                                                                              {"I32", 4},
                                                                              {"I16", 2},
                                                                              {"I8", 1},
                                                                              {"U8", 1},
                                                                              {"BOOL", 1}}};
  for (const auto& [name, width] : kWidths) {
    if (name == dtype) return width;
  }
  return std::nullopt;
}

SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& place) {
  const std::string_view text = header_text(bytes, place);
  const Json header = parse_json(text, place + ": header", kHeaderLimits);
  const auto data = bytes.subspan(sizeof(std::uint64_t) + text.size());
  SafetensorsContent content;
  std::vector<Placed> layout;
  for (const auto& [name, json] : *header.as_object()) {
    if (name == "__metadata__") {
      content.metadata = parse_metadata(JsonReader(json, place + ": __metadata__"));
      continue;
    }
    Placed& placed = layout.emplace_back(Placed{0, 0, name});
    content.tensors.emplace(name,
                            parse_tensor(JsonReader(json, tensor_place(place, name)), placed));
  }
  check_layout(layout, data.size(), place);
  for (const Placed& placed : layout) {
    content.tensors.find(placed.name)->second.bytes =
        data.subspan(static_cast<std::size_t>(placed.begin),
                     static_cast<std::size_t>(placed.end - placed.begin));
  }
  return content;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), content_(parse_safetensors(file_.bytes(), path.string())) {}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = content_.tensors.find(name);
  return found == content_.tensors.end() ? nullptr : &found->second;
}

}  // namespace alibi
