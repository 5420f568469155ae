// How a tensor (B, heads, length, W) lies in memory.
#pragma once

#include <cstdint>

namespace alibi {

// Strides in numbers; the numbers of a row lie side by side. Number: void where the type is known
// at run time only.
template <class Number>
struct HeadRows {
  Number* data = nullptr;
  std::int64_t sequence = 0, head = 0, row = 0;

  constexpr std::int64_t offset(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return b * sequence + h * head + i * row;
  }
  constexpr Number* at(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return data + offset(b, h, i);
  }
};

}  // namespace alibi
