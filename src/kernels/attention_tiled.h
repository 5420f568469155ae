// Tiled attention with online softmax, forward and backward, one work item at a time.
//
// After FlashAttention-2 (Dao 2023, algorithms 1 and 2), with biases by distance, from
// tile-relative integers in fp32, or by position, and with blocks left out that no query sees
// (visible_keys.h) or that cannot matter (attention_skip.h). Nothing here allocates (but for the
// code of a product of a new shape, tile_gemm.h) or starts threads: the caller owns memory and
// spreads the items. A result does not depend on how items are
// spread.
//
// Letters: B sequences, H heads, G key/value heads, T queries, S keys, W head width. A "unit" is
// one (sequence, key/value head); a "block" is 64 queries or 64 keys.
#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/head_rows.h"
#include "kernels/tile_ops.h"
#include "kernels/visible_keys.h"

namespace alibi {

// What is added to the scores (BiasForms).
struct TiledBias {
  const float* slopes_H = nullptr;  // null: none
  // In base 2, times log2(e); null: none. L is `distances`.
  const float* table_HL = nullptr;
  const float* reach_HL = nullptr;  // largest number of a head's table from each distance on
  std::int64_t distances = 0;
  const double* terms_BHS = nullptr;  // c; null: none
  // With terms, of each key block: the least c in it, and in it and all earlier ones.
  const double *least_BHN = nullptr, *least_so_far_BHN = nullptr;
};

struct TiledAttention {
  const TileOps* ops = nullptr;
  AttentionProblem sizes;
  SkipRule skip = SkipRule::kEpsilon;
  float scale = 1;
  TiledBias bias;
  const KeyRule* rules = nullptr;  // of all heads, or of each; null: all see all
  bool rule_of_each = false;
  const std::int64_t* first_BT = nullptr;  // of documents; null: every query sees from key 0
  // Of R rounds: key j is also hidden from query i > j where 0 <= x[i] - x[j] <= 1; null: none.
  const std::int64_t* left_out_RBS = nullptr;
  std::int64_t rounds_left_out = 0;
  HeadRows<void> q, k, v, output;
  float* lse_BHT = nullptr;
  std::int64_t first_key_in_memory = 0;  // earlier keys are packed already; a multiple of 64
  std::int64_t key_capacity = 0;         // packed keys leave room for so many; 0: sizes.keys
  std::int32_t* visited_BHN = nullptr;   // if given: key blocks visited by each query block
  // backward only
  HeadRows<void> output_gradient, q_gradient, k_gradient, v_gradient;
  // If given: each key block's part of the slopes' gradient, the sum of score gradient * (key -
  // query).
  double* slope_parts_BHN = nullptr;
  // If given, P parts of the table's gradient, sums of score gradients by distance; set to 0
  // before. Key blocks n, n + P, ... share a part, one after the other.
  double* table_parts_BHPL = nullptr;
  // If given: of c, the sum of a query's score gradients, and - that of a key's. A query's is 0 but
  // for rounding: without it that of c's steps, sums over all later c, would gather what rounding
  // leaves of each of them.
  double *query_term_gradient_BHT = nullptr, *key_term_gradient_BHS = nullptr;

  const KeyRule& rule_of(std::int64_t head) const {
    static constexpr KeyRule kAll;
    return rules == nullptr ? kAll : rules[rule_of_each ? head : 0];
  }
  std::int64_t units() const { return sizes.sequences * sizes.key_value_heads; }
  std::int64_t group() const { return sizes.heads / sizes.key_value_heads; }
  std::int64_t query_blocks() const { return (sizes.queries + kTile - 1) / kTile; }
  // The grid of key blocks starts with the first query, so that a window's numbers are the same to
  // the bit wherever it stands; the block of the earliest keys may be short.
  std::int64_t missing_keys() const {
    return (kTile - (sizes.keys - sizes.queries) % kTile) % kTile;
  }
  std::int64_t key_blocks() const { return (sizes.keys + missing_keys() + kTile - 1) / kTile; }
  std::int64_t block_of(std::int64_t key) const { return (key + missing_keys()) / kTile; }
  std::int64_t first_key(std::int64_t block) const {
    return block == 0 ? 0 : block * kTile - missing_keys();
  }
  std::int64_t keys_of(std::int64_t block) const {
    const std::int64_t end = (block + 1) * kTile - missing_keys();
    return (end < sizes.keys ? end : sizes.keys) - first_key(block);
  }
  std::int64_t packed_key_blocks() const {
    return key_capacity == 0 ? key_blocks() : (key_capacity + kTile - 1) / kTile;
  }
  // The key blocks before that of the first query.
  std::int64_t blocks_before() const { return key_blocks() - query_blocks(); }
  // Of a unit: the query blocks of all heads that share its keys, head by head.
  std::int64_t unit_query_blocks() const { return group() * query_blocks(); }
  // Work items that sum gradients of keys: key blocks n, n + key_parts(), ... of a unit.
  std::int64_t key_parts() const {
    constexpr std::int64_t kTableParts = 16;  // each may take a table of memory
    const std::int64_t blocks = key_blocks();
    return bias.table_HL != nullptr && blocks > kTableParts ? kTableParts : blocks;
  }
  std::int64_t tile_bytes() const { return kTile * sizes.head_width * ops->element_bytes; }
};

// All sizes in bytes and multiples of 64; memory given must be aligned to 64.

// Fetches what packing the unit's blocks numbered `block` will read, while others are computed.
void prefetch_block(const TiledAttention& a, std::int64_t unit, std::int64_t block);

// Forward: pack the key blocks of a unit in any order; then, in rising order, what the skip test
// knows of each and all earlier ones; then any query blocks that come after them, in any order.
std::int64_t packed_keys_bytes(const TiledAttention& a);
void pack_key_block(const TiledAttention& a, std::int64_t unit, std::int64_t block, void* packed);
void reach_key_block(const TiledAttention& a, std::int64_t block, void* packed);
std::int64_t forward_scratch_bytes(const TiledAttention& a);
void forward_block(const TiledAttention& a, std::int64_t unit, std::int64_t block,
                   const void* packed, void* scratch);

// Backward: either a whole unit in one sweep, which packs as it goes; or pack every key and every
// query block of a unit, finish, then all query blocks (q's gradient) and all key parts (k's, v's
// and the bias's) in any order: the same bits, with seven products a tile instead of five.
std::int64_t packed_unit_bytes(const TiledAttention& a, bool one_sweep);
std::int64_t backward_scratch_bytes(const TiledAttention& a, bool one_sweep);
void backward_unit(const TiledAttention& a, std::int64_t unit, void* packed, void* scratch);
void pack_unit_keys(const TiledAttention& a, std::int64_t unit, std::int64_t block, void* packed);
void pack_unit_queries(const TiledAttention& a, std::int64_t unit, std::int64_t block,
                       void* packed);
void finish_packed_unit(const TiledAttention& a, void* packed);
void backward_query_block(const TiledAttention& a, std::int64_t unit, std::int64_t block,
                          const void* packed, void* scratch);
void backward_key_part(const TiledAttention& a, std::int64_t unit, std::int64_t part,
                       const void* packed, void* scratch);

}  // namespace alibi
