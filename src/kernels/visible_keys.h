// Which keys a query may see, described once for all kernels.
//
// Query t of T stands at position i = S - T + t among S keys. It sees key j where all of these
// hold:
//   j <= i                                      order
//   j >= first                                  its document begins there (0 without documents)
//   i - j < window  or  j - first < global      where there is a window
//   block (i / 64, j / 64) is listed            where there is a list
// Every query sees itself: a window is 1 or more, and a list holds all (n, n).
#pragma once

#include <cstdint>

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

// What holds for all documents.
struct KeyRule {
  std::int64_t window = 0;  // 0: none
  std::int64_t global = 0;  // first keys of each document that a window never hides
  BlockList list;
};

}  // namespace alibi
