// What the attention kernels of a device are given (src/kernels/cuda), in plain numbers and
// pointers into its memory. All members are constexpr so that both sides may call them.
//
// Letters: B sequences, H heads, G key/value heads, T queries, S keys, W head width, N key blocks,
// M query blocks, P padded distances. Query i stands at position S - T + i and sees keys from its
// document's start to its own position. Scores of our kernels are in base 2: scale and slopes carry
// log2(e), as in kernels/attention_skip.h.
#pragma once

#include <cstdint>

#include "kernels/head_rows.h"

namespace alibi {

inline constexpr int kKeyBlock = 64;

using DeviceRows = HeadRows<std::uint16_t>;  // bf16; rows are aligned to 16 bytes

// Tiles meet distances from -kTableBefore to keys + kTableBehind - 1: of keys behind a query, which
// it does not see, and of rows that are not there.
inline constexpr int kTableBefore = 192, kTableBehind = 128;

// What is added to the scores: one form of BiasForms, or none, which is a slope of 0; and a table
// beside a pattern, which hides some of them. Each is another kernel.
enum class BiasKind { kSlopes, kTable, kTerms, kShownTable };

constexpr bool is_table(BiasKind kind) {
  return kind == BiasKind::kTable || kind == BiasKind::kShownTable;
}

// A number as the sum of two, the second what rounding to fp32 takes from it: 48 binary digits,
// as a difference of two sums over a long text needs.
struct TermPair {
  float high = 0, low = 0;
};

struct DeviceAttention {
  int sequences = 0, heads = 0, key_value_heads = 0;
  int queries = 0, keys = 0;
  int width = 0;  // a multiple of 8; kernels pad it to theirs with zeros
  float scale = 1;
  const float* slopes_H = nullptr;  // null: 0
  // A number for each distance d, at [h][kTableBefore + d] of table_length(); null: none. With a
  // threshold also the largest from each distance on.
  const float *table_HP = nullptr, *table_reach_HP = nullptr;
  // c_i - c_j; null: none. Each key's c, and less that of the first key of its block, of whole
  // blocks; with a threshold also the least c of each block and all before it.
  const TermPair *terms_BHS = nullptr, *least_BHN = nullptr;
  const float* near_BHS = nullptr;
  float threshold = -1;                    // of the skip test; negative: nothing is left out
  const float* reach_BGN = nullptr;        // with a threshold: attention_norms.h
  const std::int64_t* start_BT = nullptr;  // null: every query sees from key 0
  DeviceRows q, k, v, output;
  float* lse_BHT = nullptr;  // natural log of each row's sum of exponentials
  // Lowest key block that each of the forward's blocks of `first_rows` query rows visited: the
  // backward visits no others.
  std::int32_t* first_BHM = nullptr;
  int first_rows = 0;
  // Which tiles of query block m (64 queries) by key block n are shown at all and to whom, by rule
  // (model/shown_tiles.h); null: all. Only with a table, and only where keys - queries is a
  // multiple of 64.
  const std::int32_t *shown_until_RMN = nullptr, *shown_from_RNM = nullptr, *shown_RMN = nullptr;
  const std::uint64_t* shown_masks = nullptr;
  int rules = 1;              // one, or one for each head
  void* workspace = nullptr;  // of a module that asks for one
  // backward only
  DeviceRows output_gradient, q_gradient, k_gradient, v_gradient;
  float* delta_BHT = nullptr;  // each row's output times its gradient, summed
  // The gradient of a bias by distance, in natural units, where it is wanted: by how many blocks of
  // 64 queries and of keys lie apart, X = distance_blocks(), in 128 sums (attention_distances.h).
  float* distance_gradient_BHXU = nullptr;
  // The gradient of terms, in natural units: c's as a query's (0 but for rounding:
  // kernels/attention_tiled.h) and as a key's, which is set to 0 before.
  float *query_term_gradient_BHT = nullptr, *key_term_gradient_BHS = nullptr;

  constexpr int offset() const { return keys - queries; }
  constexpr int group() const { return heads / key_value_heads; }
  constexpr int key_blocks() const { return (keys + kKeyBlock - 1) / kKeyBlock; }
  constexpr BiasKind bias_kind() const {
    if (shown_RMN != nullptr) return BiasKind::kShownTable;
    if (table_HP != nullptr) return BiasKind::kTable;
    return terms_BHS != nullptr ? BiasKind::kTerms : BiasKind::kSlopes;
  }
  constexpr int table_length() const { return kTableBefore + keys + kTableBehind; }
  constexpr int query_blocks() const { return (queries + kKeyBlock - 1) / kKeyBlock; }
  // Blocks of 64 queries that begin up to this many blocks of keys before the first key still see
  // some of them.
  constexpr int blocks_before() const { return (offset() + kKeyBlock - 1) / kKeyBlock; }
  constexpr int distance_blocks() const { return query_blocks() + blocks_before(); }
  constexpr float slope(int h) const { return slopes_H == nullptr ? 0.0F : slopes_H[h]; }
  constexpr int start(int b, int query) const {
    if (start_BT == nullptr) return 0;
    return static_cast<int>(start_BT[static_cast<std::int64_t>(b) * queries + query]);
  }
  // Of a head: the last block of keys up to n that query block m is shown something of; -1: none.
  constexpr int shown_until(int h, int m, int n) const {
    return n < 0 || m >= query_blocks() ? -1 : shown_until_RMN[tile(h, m) + n];
  }
  // The first block of queries from m on that is shown something of key block n; M: none.
  constexpr int shown_from(int h, int n, int m) const {
    if (m >= query_blocks()) return query_blocks();
    const std::int64_t place = std::int64_t{1} * rule(h) * key_blocks() + n;
    return shown_from_RNM[place * query_blocks() + m];
  }
  // What of a tile: 0 all, -1 nothing, else what mask i - 1 says.
  constexpr int shown(int h, int m, int n) const {
    return m >= query_blocks() ? -1 : shown_RMN[tile(h, m) + n];
  }
  // Of what is not 0: bits of the keys that query `at` of 64 is shown, or, from 64 on, of the
  // queries that key `at` - 64 is shown to.
  constexpr std::uint64_t shown_bits(int shown, int at) const {
    return shown < 0 ? 0 : shown_masks[std::int64_t{shown - 1} * 2 * kKeyBlock + at];
  }
  constexpr int rule(int h) const { return rules == 1 ? 0 : h; }
  constexpr std::int64_t tile(int h, int m) const {
    return (std::int64_t{1} * rule(h) * query_blocks() + m) * key_blocks();
  }
  constexpr std::int64_t row(int b, int h, int query) const {
    return (static_cast<std::int64_t>(b) * heads + h) * queries + query;
  }
  // Of the rows that `query` is one of.
  constexpr std::int32_t& first_block(int b, int h, int query) const {
    const int blocks = (queries + first_rows - 1) / first_rows;
    return first_BHM[(static_cast<std::int64_t>(b) * heads + h) * blocks + query / first_rows];
  }
};

}  // namespace alibi
