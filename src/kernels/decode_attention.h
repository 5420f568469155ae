// Attention of a few new queries over the keys and values of a cache, read where they lie: in pages
// that a table names (Kwon et al. 2023, PagedAttention, section 4.2), or in one piece, which is one
// page. One head at a time, so that a result depends on nothing but its own sequence. Nothing here
// allocates or starts threads.
//
// Letters: H heads, G key/value heads, T new queries, S keys, W head width, L distances. Query t is
// at position S - T + t.
#pragma once

#include <cstdint>

#include "kernels/head_rows.h"
#include "kernels/tile_ops.h"
#include "kernels/visible_keys.h"

namespace alibi {

// One sequence in one layer's cache, with room for its new positions. In HeadRows a page stands
// where a sequence does, and a row is a position of the page.
struct PagedKeys {
  HeadRows<void> k, v;     // (S, G, W) in memory's type
  HeadRows<double> terms;  // (S, H) c; without data: the bias has none
  const std::int64_t* pages = nullptr;
  std::int64_t page_rows = 1;  // positions of a page
  std::int64_t positions = 0;  // S
};

struct DecodeAttention {
  const TileOps* ops = nullptr;
  std::int64_t heads = 0, key_value_heads = 0, queries = 1, head_width = 0;
  float scale = 1;                  // on q.k
  const float* slopes_H = nullptr;  // null: none
  const float* table_HL = nullptr;  // in base 2, times log2(e); null: none
  std::int64_t distances = 0;       // L
  const KeyRule* rules = nullptr;   // of all heads, or of each; null: all see all
  bool rule_of_each = false;
  HeadRows<void> q, k, v, output;     // of the T new positions of each sequence
  const double* terms_BHT = nullptr;  // their c, counted from 0 before them; null: none
};

// Writes new keys, values and terms of sequence b and key/value head g to their places in its
// cache, then the output of the heads that share them.
void decode_group(const DecodeAttention& a, const PagedKeys& keys, std::int64_t b, std::int64_t g);

}  // namespace alibi
