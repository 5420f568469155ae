// Where a block of a tiled attention stands: its rows in memory, its coordinates, its bias, and the
// one walk over the key blocks that it sees.
#pragma once

#include <cstdint>

#include "kernels/attention_skip.h"
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
  std::int64_t first_block, last_block;    // key blocks that hold a visible key, or what is between
  const KeyRule* rule;
  // Of the rule's parts: the first block of the window and of the segment, the last one that holds
  // a global key (-1: none).
  std::int64_t window_block, segment_block, global_block;
  std::int64_t missing_keys;  // of block 0
  bool ragged;                // documents or padding: some row does not see key 0
  float scale, slope;         // base 2

  std::int32_t distance(std::int64_t key_block) const {
    const std::int64_t key = key_block == 0 ? 0 : key_block * kTile - missing_keys;
    return static_cast<std::int32_t>(key - first_query);
  }
};

// `block` counts the unit's query blocks, head by head.
BlockPlace block_place(const TiledAttention& a, std::int64_t unit, std::int64_t block);

// The walk over what a query block sees:
//   for (j = visible_until(a, place, place.last_block); j >= 0; j = visible_until(a, place, j - 1))
// The last key block up to `block` that holds a visible key; -1: none.
std::int64_t visible_until(const TiledAttention& a, const BlockPlace& place, std::int64_t block);
// Whether that walk comes to the block.
bool sees_some_of(const TiledAttention& a, const BlockPlace& place, std::int64_t key_block);
// Whether all 64 rows are real and see the whole block.
bool sees_all_of(const TiledAttention& a, const BlockPlace& place, std::int64_t key_block);
// Which keys of the block each query sees, [query] key; and the other way round.
TileMask block_mask(const TiledAttention& a, const BlockPlace& place, std::int64_t key_block);
TileMask transposed(const TileMask& mask);

// The bias of a query block's tiles where a slope does not say it all. One tile at a time.
class BlockBias {
 public:
  BlockBias(const TiledAttention& a, const BlockPlace& place);
  BlockBias(const BlockBias&) = delete;  // points into itself
  BlockBias& operator=(const BlockBias&) = delete;

  bool beyond_slope() const { return table_ != nullptr || terms_ != nullptr; }
  // Of a tile of queries by keys; `by_key`: of keys by queries. Valid until the next call.
  const TileBias& tile(std::int64_t key_block, bool by_key);
  // For the skip test: of the block's rows; of a key block, or of it and all earlier ones.
  BiasBound bound() const;
  KeyBound keys(std::int64_t key_block, float norm) const;
  KeyBound keys_so_far(std::int64_t key_block, float norm) const;
  // Adds a tile's sums by diagonal, of keys by queries, to a table's gradient [D].
  void add_to_table(std::int64_t key_block, const float* diagonal_sums, double* table) const;

 private:
  void fill_diagonals(std::int64_t distance, bool by_key);
  void fill_keys(std::int64_t key_block);
  KeyBound key_bound(std::int64_t key_block, float norm, const double* least_BHN) const;

  const TiledAttention& a_;
  const BlockPlace& place_;
  const float* table_ = nullptr;   // [D] of the head
  const double* terms_ = nullptr;  // [S] of the head
  double origin_ = 0;              // what terms are relative to: that of the first query
  float diagonals_[2 * kTile], queries_[kTile], keys_[kTile];
  TileBias tile_;
};

TileRows query_rows(const TiledAttention& a, const HeadRows<void>& of, const BlockPlace& place);
TileTarget query_target(const TiledAttention& a, const HeadRows<void>& of, const BlockPlace& place);
TileRows key_rows(const TiledAttention& a, const HeadRows<void>& of, std::int64_t unit,
                  std::int64_t block);
TileTarget key_target(const TiledAttention& a, const HeadRows<void>& of, std::int64_t unit,
                      std::int64_t block);

// Rows of one head lie far apart, which no hardware prefetcher foresees. A block after the last is
// nothing.
void prefetch_keys(const TiledAttention& a, std::int64_t unit, std::int64_t block);
void prefetch_queries(const TiledAttention& a, const BlockPlace& place);
void prefetch_for_write(const TileTarget& rows, int number_bytes);

float largest_norm(const TileOps& ops, const TileRows& rows);
// The i-th of the running maxima, from the one before.
void running_largest(const float* values, std::int64_t i, float* out);

}  // namespace alibi
