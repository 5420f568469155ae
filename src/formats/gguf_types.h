// The numbers of GGUF's value types, shared by its reader and writer.
#pragma once

#include <cstdint>

namespace alibi::gguf {

inline constexpr std::uint32_t kVersion = 3;
inline constexpr std::uint64_t kAlignment = 32;
inline constexpr std::int64_t kBlock = 32;  // values of a Q8_0 block
inline constexpr std::size_t kLongestName = 63;

enum Type : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12
};

inline std::uint64_t padded(std::uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace alibi::gguf
