#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/printable.h"
#include "base/strings.h"
#include "formats/gguf.h"
#include "formats/gguf_types.h"

namespace alibi {
namespace {

constexpr std::uint64_t kMostKeys = 100'000;
constexpr std::uint64_t kMostTensors = 1'000'000;

// The bytes not yet read. Nothing is taken that is not there.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& place)
      : bytes_(bytes), place_(place) {}

  template <class Number>
  Number number() {
    Number value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto bytes = take(number<std::uint64_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > bytes_.size() - at_) bad(cat("ends ", size - (bytes_.size() - at_), " bytes early"));
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return taken;
  }
  // As many elements of at least `width` bytes as the rest can hold; more is refused.
  std::uint64_t count(std::uint64_t width) {
    const auto value = number<std::uint64_t>();
    if (value > (bytes_.size() - at_) / width) bad(cat("claims ", value, " elements"));
    return value;
  }
  std::size_t at() const { return at_; }
  [[noreturn]] void bad(const std::string& what) const {
    throw Error(place_, "is no GGUF file: " + what);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& place_;
  std::size_t at_ = 0;
};

std::uint64_t width_of(std::uint32_t type, const Cursor& cursor) {
  switch (type) {
    case gguf::kU8:
    case gguf::kI8:
    case gguf::kBool:
      return 1;
    case gguf::kU16:
    case gguf::kI16:
      return 2;
    case gguf::kU32:
    case gguf::kI32:
    case gguf::kF32:
      return 4;
    case gguf::kU64:
    case gguf::kI64:
    case gguf::kF64:
      return 8;
    case gguf::kString:
      return 8;  // at least
    default:
      cursor.bad(cat("value type ", type));
  }
}

template <class Element, class Read>
std::vector<Element> list(std::uint64_t count, const Read& read) {
  std::vector<Element> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(read());
  return values;
}

std::optional<GgufValue> read_array(Cursor& cursor) {
  const auto type = cursor.number<std::uint32_t>();
  const std::uint64_t width = width_of(type, cursor);
  const std::uint64_t count = cursor.count(width);
  switch (type) {
    case gguf::kString:
      return list<std::string>(count, [&] { return cursor.text(); });
    case gguf::kF32:
      return list<float>(count, [&] { return cursor.number<float>(); });
    case gguf::kI32:
      return list<std::int32_t>(count, [&] { return cursor.number<std::int32_t>(); });
    default:
      cursor.take(count * width);
      return std::nullopt;
  }
}

// Nothing for a type that we have no use for.
std::optional<GgufValue> read_value(Cursor& cursor) {
  const auto type = cursor.number<std::uint32_t>();
  switch (type) {
    case gguf::kArray:
      return read_array(cursor);
    case gguf::kBool:
      return cursor.number<std::uint8_t>() != 0;
    case gguf::kU32:
      return cursor.number<std::uint32_t>();
    case gguf::kI32:
      return cursor.number<std::int32_t>();
    case gguf::kF32:
      return cursor.number<float>();
    case gguf::kString:
      return cursor.text();
    default:
      cursor.take(width_of(type, cursor));
      return std::nullopt;
  }
}

struct Placed {
  GgufTensor tensor;
  std::uint64_t offset;
};

Placed read_tensor(Cursor& cursor) {
  Placed placed;
  placed.tensor.name = cursor.text();
  if (placed.tensor.name.empty() || placed.tensor.name.size() > gguf::kLongestName)
    cursor.bad(cat("a tensor's name of ", placed.tensor.name.size(), " bytes"));
  const auto dimensions = cursor.number<std::uint32_t>();
  if (dimensions < 1 || dimensions > 4) cursor.bad(cat(dimensions, " dimensions"));
  std::int64_t count = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = cursor.number<std::uint64_t>();
    // A quarter of what 64 bits hold: bytes of four are counted below. An empty dimension must not
    // hide the others from the check: they are multiplied in another order later.
    if (size > std::uint64_t{1} << 40 ||
        __builtin_mul_overflow(count, std::max<std::int64_t>(static_cast<std::int64_t>(size), 1),
                               &count) ||
        count > std::numeric_limits<std::int64_t>::max() / 4)
      cursor.bad("the product of a tensor's shape overflows");
    placed.tensor.shape.insert(placed.tensor.shape.begin(), static_cast<std::int64_t>(size));
  }
  const auto element = cursor.number<std::uint32_t>();
  placed.tensor.element = static_cast<GgufElement>(element);
  if (element != 0 && element != 1 && element != 8 && element != 30)
    cursor.bad(cat("tensor ", shown(placed.tensor.name), " has element type ", element,
                   ", expected F32, F16, BF16 or Q8_0"));
  if (element == 8 && placed.tensor.shape.back() % gguf::kBlock != 0)
    cursor.bad(cat("tensor ", shown(placed.tensor.name), " has rows that are no whole blocks"));
  placed.offset = cursor.number<std::uint64_t>();
  return placed;
}

}  // namespace

GgufContent parse_gguf(std::span<const std::byte> bytes, const std::string& place) {
  Cursor cursor(bytes, place);
  const auto magic = cursor.take(4);
  if (std::memcmp(magic.data(), "GGUF", 4) != 0) cursor.bad("it does not begin with GGUF");
  const auto version = cursor.number<std::uint32_t>();
  if (version != gguf::kVersion) cursor.bad(cat("version ", version, ", expected 3"));
  const auto tensors = cursor.number<std::uint64_t>(), keys = cursor.number<std::uint64_t>();
  if (tensors > kMostTensors || keys > kMostKeys)
    cursor.bad(cat("claims ", tensors, " tensors and ", keys, " keys"));
  GgufContent content;
  for (std::uint64_t i = 0; i < keys; ++i) {
    const std::string name = cursor.text();
    auto value = read_value(cursor);
    if (value && !content.keys.emplace(name, std::move(*value)).second)
      cursor.bad(cat("duplicate key ", shown(name)));
  }
  if (const auto key = content.keys.find("general.alignment"); key != content.keys.end()) {
    const auto* alignment = std::get_if<std::uint32_t>(&key->second);
    if (alignment == nullptr || *alignment != gguf::kAlignment)
      cursor.bad(cat("has another general.alignment than ", gguf::kAlignment));
  }
  std::vector<Placed> placed;
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    placed.push_back(read_tensor(cursor));
    if (!names.insert(placed.back().tensor.name).second)
      cursor.bad(cat("duplicate tensor ", shown(placed.back().tensor.name)));
  }
  const std::uint64_t start = std::min<std::uint64_t>(gguf::padded(cursor.at()), bytes.size());
  const auto data = bytes.subspan(static_cast<std::size_t>(start));
  for (Placed& one : placed) {
    const std::uint64_t size = gguf_bytes(one.tensor);
    if (one.offset % gguf::kAlignment != 0 || one.offset > data.size() ||
        size > data.size() - one.offset)
      cursor.bad(cat("tensor ", shown(one.tensor.name), " lies outside of the file"));
    one.tensor.bytes =
        data.subspan(static_cast<std::size_t>(one.offset), static_cast<std::size_t>(size));
    content.tensors.push_back(std::move(one.tensor));
  }
  return content;
}

}  // namespace alibi
