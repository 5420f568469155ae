// Where a block of a tiled attention stands: its rows in memory, the keys it sees, its coordinates.
#pragma once

#include <cstdint>

#include "kernels/attention_tiled.h"

namespace alibi {

inline constexpr std::int64_t kAlignment = 64;

inline std::int64_t padded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Hands out aligned parts of one piece of memory, in order; without memory it only counts.
struct Carver {
  void* memory;
  std::int64_t bytes = 0;
  template <class T>
  T* take(std::int64_t count) {
    const std::int64_t at = bytes;
    bytes += padded(count * static_cast<std::int64_t>(sizeof(T)));
    return memory == nullptr ? nullptr : reinterpret_cast<T*>(static_cast<char*>(memory) + at);
  }
};

// A query block of one head.
struct BlockPlace {
  std::int64_t sequence, head, first_row;  // of the tensors (B, H, T, W)
  int rows;                                // real queries, 1 .. 64
  std::int64_t row;                        // b H T + h T + first row: index into lse
  std::int64_t index;                      // (b H + h) blocks + block: index into visited
  std::int64_t first_query;                // position of the first query among the keys
  std::int64_t first_block, last_block;    // key blocks that hold a visible key
  std::int64_t missing_keys;               // of block 0
  bool ragged;         // documents or padding: not every row sees all earlier keys
  float scale, slope;  // base 2

  std::int32_t distance(std::int64_t key_block) const {
    const std::int64_t key = key_block == 0 ? 0 : key_block * kTile - missing_keys;
    return static_cast<std::int32_t>(key - first_query);
  }
  // Whether all 64 rows are real and see the whole block.
  bool sees_all_of(std::int64_t key_block) const {
    const bool full = key_block > 0 || missing_keys == 0;
    return full && !ragged && distance(key_block) + kTile - 1 <= 0;
  }
};

// `block` counts the unit's query blocks, head by head.
BlockPlace block_place(const TiledAttention& a, std::int64_t unit, std::int64_t block);
// Which keys of a block each of the queries sees.
TileSight block_sight(const TiledAttention& a, const BlockPlace& place, std::int64_t key_block);
TileRows query_rows(const TiledAttention& a, const HeadRows& of, const BlockPlace& place);
TileTarget query_target(const TiledAttention& a, const HeadRows& of, const BlockPlace& place);
TileRows key_rows(const TiledAttention& a, const HeadRows& of, std::int64_t unit,
                  std::int64_t block);
TileTarget key_target(const TiledAttention& a, const HeadRows& of, std::int64_t unit,
                      std::int64_t block);

// Asks for the rows' cache lines: rows of one head lie far apart, which no processor foresees.
void prefetch(const TileRows& rows, int number_bytes);
void prefetch_for_write(const TileTarget& rows, int number_bytes);

float largest_norm(const TileOps& ops, const TileRows& rows);
void running_largest(const float* values, std::int64_t count, float* out);

}  // namespace alibi
