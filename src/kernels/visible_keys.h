// Which keys a query may see, described once for all kernels.
//
// Query t of T stands at place i = S - T + t among S keys. It sees key j where
//   j <= i                 order
//   j >= first             its document begins there (0 without documents)
// and where the rule of its head has parts, at least one of them shows j (config/key_pattern.h); in
// place of `random` stands a list, which shows j where block (i / 64, j / 64) is listed.
// Every query sees itself: a rule of parts has a window, a segment or a list, and a list holds all
// (n, n).
#pragma once

#include <cstdint>

#include "config/key_pattern.h"

namespace alibi {

inline constexpr std::int64_t kListBlock = 64;  // positions of a listed block's side

// Pairs of blocks of positions: those of query block n are blocks[begin[n]] .. blocks[begin[n + 1]
// - 1], rising.
struct BlockList {
  const std::int64_t* begin = nullptr;  // [rows + 1]; null: all pairs are listed
  const std::int64_t* blocks = nullptr;
  std::int64_t rows = 0;

  bool given() const { return begin != nullptr; }
  // The last block up to `block` that is listed for query block `row`; -1: none.
  std::int64_t last_until(std::int64_t row, std::int64_t block) const {
    std::int64_t low = begin[row], high = begin[row + 1];  // all before `low` are <= block
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (blocks[middle] <= block) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == begin[row] ? -1 : blocks[low - 1];
  }
  bool holds(std::int64_t row, std::int64_t block) const { return last_until(row, block) == block; }
};

struct KeyRule {
  KeyParts parts;  // without `random`
  BlockList list;

  bool shows_all() const { return parts.show_all() && !list.given(); }
};

}  // namespace alibi
