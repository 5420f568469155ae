#include "report/event_file.h"

#include <array>
#include <bit>
#include <cstring>

namespace alibi {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, reflected
constexpr std::uint32_t kMaskDelta = 0xa282ead8;

template <class Number>
void put(std::string& out, Number value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// Protocol Buffers: key is the field's number and how it is written.
enum Wire : std::uint64_t { kVarint = 0, kEight = 1, kBytes = 2, kFour = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_key(std::string& out, std::uint64_t field, Wire wire) {
  put_varint(out, field << 3 | wire);
}
void put_bytes(std::string& out, std::uint64_t field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

std::uint32_t masked(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + kMaskDelta; }

std::string record(const std::string& event) {
  std::string length;
  put(length, static_cast<std::uint64_t>(event.size()));
  std::string out = length;
  put(out, masked(length));
  out += event;
  put(out, masked(event));
  return out;
}

std::string event_at(double wall_time) {
  std::string event;
  put_key(event, 1, kEight);
  put(event, wall_time);
  return event;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ kPolynomial : value >> 1;
      all[i] = value;
    }
    return all;
  }();
  std::uint32_t sum = ~0u;
  for (const char c : bytes) sum = table[(sum ^ static_cast<unsigned char>(c)) & 0xff] ^ sum >> 8;
  return ~sum;
}

std::string event_file_head(double wall_time) {
  std::string event = event_at(wall_time);
  put_bytes(event, 3, "brain.Event:2");
  return record(event);
}

std::string event_record(double wall_time, std::int64_t step, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    put_bytes(value, 1, tag);
    put_key(value, 2, kFour);
    put(value, number);
    put_bytes(summary, 1, value);
  }
  std::string event = event_at(wall_time);
  put_key(event, 2, kVarint);
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);
  return record(event);
}

}  // namespace alibi
