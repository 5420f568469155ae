// What every harness asks of a reader: it takes the bytes, or refuses them by an Error of one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace alibi {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline std::span<const std::byte> as_bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

// What does not hold is a finding: libFuzzer keeps the input.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

template <class Read>
int read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    expect(std::string_view(error.what()).find('\n') == std::string_view::npos,
           "an Error of several lines");
  }
  return 0;
}

}  // namespace alibi

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
