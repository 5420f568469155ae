// The arithmetic of one tile, as a table of functions: what differs between instruction sets.
//
// attention_forward.cc and attention_backward.cc are written once against this table. A tile is 64
// queries by 64 keys. Packed operands hold bf16 or fp32 "elements"; sums and scores are fp32.
//
// Letters: W head width (a multiple of 8), operand layouts
//   rows        [64][W]   left operand X
//   transposed  [W][64]   left operand X^T
//   columns     right operand X^T: [W][64], in bf16 as row pairs [W / 2][64][2]
//   pairs       right operand X:   [64][W], in bf16 as row pairs [32][W][2]
// Scores live in base 2: a weight is 2^(score * scale + bias - reference), where scale and bias
// carry log2(e). The bias is slope * (key - query), a whole number until it meets the slope, or
// given by number (TileBias).
#pragma once

#include <cstdint>

#include "kernels/tile_gemm.h"

namespace alibi {

inline constexpr int kTile = 64;
inline constexpr int kLanes = 16;        // row sums are kept this wide
inline constexpr float kNever = -1e30f;  // reference of a row that has seen no key
inline constexpr double kLog2E = 1.4426950408889634;
// A row's reference is moved only when a score exceeds it by 2^11: sums stay far from overflow, and
// most tiles skip the rescaling.
inline constexpr float kHeadroom = 11.0F;
// Norms are rounded up by more than fp32 sums over 256 products can lose (256 * 2^-24 = 1.6e-5).
inline constexpr float kNormSlack = 1.0F + 1e-4F;
// Numbers below 2^-63, whose squares may count as 0: the norm of 256 of them is at most 2^-59.
inline constexpr float kNormFloor = 0x1p-58F;

// Up to 64 rows of `width` numbers in memory, `stride` numbers apart.
struct TileRows {
  const void* data;
  std::int64_t stride;
  int count;
  int width;
};

struct TileTarget {
  void* data;
  std::int64_t stride;
  int count;
  int width;
};

// Which elements of a tile count: bit c of rows[r] says it of row r and column c.
struct TileMask {
  std::uint64_t rows[kTile];
};

// A bias of a tile beyond a slope: by diagonal, by query and by key, summed.
struct TileBias {
  const float* diagonals;       // [127] of row r and column c at kTile - 1 + c - r
  const float *queries, *keys;  // [64]
};

// Online softmax over one tile of scores [query][key].
struct SoftmaxTile {
  const float* scores;
  void* weights;   // out: elements [query][key], a left operand
  float* highest;  // [64] in and out: what each row's weights are relative to
  float* sums;     // [64][kLanes] in and out
  float* output;   // [64][W], rescaled when a row's reference moves
  int width;
  int rows;  // real queries
  float scale, slope;
  std::int32_t distance;  // first key - first query
  const TileMask* mask;   // [query] key; null: every query sees every key
  const TileBias* bias;   // null: slope * (key - query)
};

// Online softmax of one query over up to 64 keys, whose rows lie anywhere. Numbers are of memory's
// type: nothing is packed for one query.
struct QueryTile {
  const void* query;                        // [W]
  const void *const *keys, *const *values;  // [count] rows of W
  int count = 0, width;
  float scale;
  const float* bias;       // [64] of each key, base 2
  std::uint64_t seen = 0;  // bit c: key c counts
  float highest = kNever;  // in and out, as of SoftmaxTile
  float sum = 0;           // in and out
  float* output;           // [W] in and out
};

// Weights and score gradients of one tile [key][query], from the stored log-sums.
struct GradientTile {
  const float* scores;    // [key][query] of k q
  const float* products;  // [key][query] of v do
  void* weights;          // out: left operand
  void* gradients;        // out: left operand
  void* gradient_pairs;   // out: right operand; fp32 elements: the same memory as gradients
  const float* log_sums;  // [64] base 2
  const float* delta;     // [64] do . o of each query
  float scale, slope;
  std::int32_t distance;
  const TileMask* mask;  // [key] query
  const TileBias* bias;
  // Without `bias`: [kLanes], gains the sums of gradient * (key - query); null: not wanted.
  float* slope_sums;
  // With `bias`: gain the gradients' sums by diagonal, [127], by key, [64], and by query, [64];
  // null: not wanted.
  float *diagonal_sums, *key_sums, *query_sums;
};

struct TilePacking {
  void (*rows)(const TileRows& x, void* out);
  void (*transposed)(const TileRows& x, void* out);
  void (*columns)(const TileRows& x, void* out);
  void (*pairs)(const TileRows& x, void* out);
  // Euclidean norms, rounded up so that |q||k| also bounds the rounded product; next
  // to 0 for padding.
  void (*norms)(const TileRows& x, float* out_64);
  void (*dots)(const TileRows& x, const TileRows& y, float* out_64);
};

struct TileOps {
  const char* name;
  bool bf16_memory;     // the tensors' type; else fp32
  int element_bytes;    // of packed operands
  bool (*available)();  // on this processor
  const TilePacking* pack;
  void (*product)(const TileProduct& product);
  void (*release)();  // ends a thread's use of `product`
  void (*softmax)(const SoftmaxTile& tile);
  void (*query)(QueryTile& tile);
  // out[row] = highest[row] + log2 of the row's sum; reciprocals[row] = 1 / sum.
  void (*log_sums)(const float* highest, const float* sums, float* out_64, float* reciprocals_64);
  void (*gradient)(const GradientTile& tile);
  // target row r = factors[r] * tile[r], tile [64][W].
  void (*store_rows)(const float* tile, const float* factors, const TileTarget& target);
  // target row r = factor * column r of tile, tile [W][64].
  void (*store_columns)(const float* tile, float factor, const TileTarget& target);
};

void query_tile_avx512_bf16(QueryTile& tile);  // query_tile_avx512.cc
void query_tile_avx512_fp32(QueryTile& tile);
extern const TilePacking kAvx512Bf16Packing, kAvx512Fp32Packing;  // tile_pack_avx512.cc
extern const TileOps kAvx512Bf16Tiles, kAvx512Fp32Tiles;          // attention_avx512.cc
extern const TileOps kAvx2Bf16Tiles, kAvx2Fp32Tiles;              // attention_avx2.cc
extern const TileOps kPlainBf16Tiles, kPlainFp32Tiles;            // attention_plain.cc

}  // namespace alibi
