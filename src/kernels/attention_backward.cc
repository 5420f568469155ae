// For a tile of 64 keys by 64 queries, from the stored log-sum-exp of each query:
//   p = 2^(k q scale + bias - log-sum);  dv += p do;  dp = v do^T;  ds = p (dp - do.o);
//   dk += ds q;  dq^T += k^T ds
// Tiles are [key][query], so that only ds is needed in two layouts. dq gathers over key blocks in
// rising order and dk, dv over query blocks in rising order, whichever way a unit is swept.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <numeric>

#include "kernels/attention_blocks.h"
#include "kernels/attention_skip.h"

namespace alibi {
namespace {

struct PackedUnit {
  char *key_rows, *key_transposed, *value_rows;  // left operands, by key block
  char *query_columns, *query_pairs;             // right operands, by query block
  char *gradient_columns, *gradient_pairs;       // of the output's gradient
  float *norms, *reach;                          // by key block
  float *query_norms, *log_sums, *low, *delta;   // [query blocks][64]
  BlockPlace* places;                            // by query block
  std::int64_t* first_block;                     // by query block: where the walk ends
};

// One sweep needs the tiles of one key block at a time.
PackedUnit packed_unit(const TiledAttention& a, const void* memory, bool one_sweep,
                       std::int64_t* bytes = nullptr) {
  Carver carve{const_cast<void*>(memory)};
  const std::int64_t keys = a.key_blocks(), queries = a.unit_query_blocks();
  PackedUnit u;
  for (char** part : {&u.key_rows, &u.key_transposed, &u.value_rows})
    *part = carve.take<char>((one_sweep ? 1 : keys) * a.tile_bytes());
  for (char** part : {&u.query_columns, &u.query_pairs, &u.gradient_columns, &u.gradient_pairs})
    *part = carve.take<char>(queries * a.tile_bytes());
  u.norms = carve.take<float>(keys);
  u.reach = carve.take<float>(keys);
  for (float** part : {&u.query_norms, &u.log_sums, &u.low, &u.delta})
    *part = carve.take<float>(queries * kTile);
  u.places = carve.take<BlockPlace>(queries);
  u.first_block = carve.take<std::int64_t>(queries);
  if (bytes != nullptr) *bytes = carve.bytes;
  return u;
}

struct Scratch {
  float *scores, *products;
  char *weights, *gradients, *gradient_pairs;
  float *k, *v;  // [64][W]
  float* q;      // [query blocks][W][64]: one, or a unit's
  float* terms;  // [query blocks][64], sums of score gradients
};

Scratch scratch_in(const TiledAttention& a, std::int64_t query_blocks, void* memory,
                   std::int64_t* bytes = nullptr) {
  Carver carve{memory};
  const std::int64_t tile = kTile * a.sizes.head_width;
  Scratch s;
  for (float** part : {&s.scores, &s.products}) *part = carve.take<float>(kTile * kTile);
  for (char** part : {&s.weights, &s.gradients, &s.gradient_pairs})
    *part = carve.take<char>(kTile * kTile * a.ops->element_bytes);
  if (a.ops->element_bytes == 4) s.gradient_pairs = s.gradients;  // one layout
  for (float** part : {&s.k, &s.v}) *part = carve.take<float>(tile);
  s.q = carve.take<float>(query_blocks * tile);
  s.terms = carve.take<float>(query_blocks * kTile);
  if (bytes != nullptr) *bytes = carve.bytes;
  return s;
}

SkipTest skip_test(const TiledAttention& a, const PackedUnit& u, const BlockBias& bias,
                   std::int64_t block) {
  return make_skip_test(a.skip, a.sizes.keys, bias.bound(),
                        {u.query_norms + block * kTile, u.low + block * kTile});
}

// A key block's tiles, at `slot` of the unit's.
void pack_keys(const TiledAttention& a, const PackedUnit& u, std::int64_t unit, std::int64_t block,
               std::int64_t slot) {
  const std::int64_t at = slot * a.tile_bytes();
  const TileRows k = key_rows(a, a.k, unit, block);
  a.ops->pack->rows(k, u.key_rows + at);
  a.ops->pack->transposed(k, u.key_transposed + at);
  a.ops->pack->rows(key_rows(a, a.v, unit, block), u.value_rows + at);
}

void pack_queries(const TiledAttention& a, const PackedUnit& u, std::int64_t block) {
  const BlockPlace& place = u.places[block];
  const std::int64_t at = block * a.tile_bytes(), first = block * kTile;
  const TileRows q = query_rows(a, a.q, place), gradient = query_rows(a, a.output_gradient, place);
  a.ops->pack->columns(q, u.query_columns + at);
  a.ops->pack->pairs(q, u.query_pairs + at);
  a.ops->pack->columns(gradient, u.gradient_columns + at);
  a.ops->pack->pairs(gradient, u.gradient_pairs + at);
  a.ops->pack->norms(q, u.query_norms + first);
  a.ops->pack->dots(gradient, query_rows(a, a.output, place), u.delta + first);
  for (int i = 0; i < kTile; ++i) {
    u.query_norms[first + i] *= place.scale;
    u.log_sums[first + i] =
        i < place.rows ? static_cast<float>(a.lse_BHT[place.row + i] * kLog2E) : 0.0F;
    u.low[first + i] = i < place.rows ? u.log_sums[first + i] : -kNever;
  }
}

// Where a query block's walk ends, from its packed rows and the reach of the keys up to its own.
std::int64_t end_of_walk(const TiledAttention& a, const PackedUnit& u, std::int64_t block) {
  const BlockPlace& place = u.places[block];
  const BlockBias bias(a, place);
  const SkipTest test = skip_test(a, u, bias, block);
  std::int64_t first = place.last_block;
  while (first > place.first_block &&
         !test.nothing_from(bias.keys_so_far(first - 1, u.reach[first - 1])))
    --first;
  return first;
}

// One unit's tiles; the parts of Scratch given as targets decide which gradients are summed.
class UnitBackward {
 public:
  // Of a unit that is packed; or `one_sweep`, which packs it.
  UnitBackward(const TiledAttention& a, std::int64_t unit, const void* packed, const Scratch& s,
               bool one_sweep)
      : a_(a),
        ops_(*a.ops),
        unit_(unit),
        width_(a.sizes.head_width),
        one_sweep_(one_sweep),
        u_(packed_unit(a, packed, one_sweep)),
        s_(s) {}

  // Key blocks are packed when their turn comes and query blocks when the first key block that they
  // see is there: in a long text both are still in the caches when they are used, as far as what
  // is visible lies near.
  void sweep() {
    for (std::int64_t n = 0; n < a_.unit_query_blocks(); ++n) {
      u_.places[n] = block_place(a_, unit_, n);
      u_.first_block[n] = kNotPacked;
    }
    for (std::int64_t j = 0; j < a_.key_blocks(); ++j) {
      prefetch_keys(a_, unit_, j + 1);
      pack_keys(a_, u_, unit_, j, 0);
      key_block(j, /*queries=*/true);
      for (std::int64_t head = 0; head < a_.group() && j >= a_.blocks_before(); ++head) {
        const std::int64_t n = head * a_.query_blocks() + j - a_.blocks_before();
        if (u_.first_block[n] == kNotPacked) clear_queries(n);
        store_queries(n, n);
      }
    }
  }

  // Adds the tile's share to the queries' gradients in a place of the scratch and to the keys',
  // where wanted; kNowhere: not the queries'.
  void tile(BlockBias& bias, std::int64_t block, std::int64_t key_block, std::int64_t queries,
            bool keys) {
    const std::int64_t bytes = a_.tile_bytes(), n = block * bytes;
    const std::int64_t k = one_sweep_ ? 0 : key_block * bytes;
    const BlockPlace& place = u_.places[block];
    const bool clear = sees_all_of(a_, place, key_block), sums = keys && bias.beyond_slope();
    const bool terms = a_.key_term_gradient_BHS != nullptr;
    TileMask mask;
    if (!clear) mask = transposed(block_mask(a_, place, key_block));
    if (sums && wants_diagonals()) std::fill_n(diagonal_sums_, 2 * kTile, 0.0F);
    ops_.product({kTile, kTile, width_, u_.key_rows + k, u_.query_columns + n, s_.scores, false});
    ops_.product(
        {kTile, kTile, width_, u_.value_rows + k, u_.gradient_columns + n, s_.products, false});
    ops_.gradient({.scores = s_.scores,
                   .products = s_.products,
                   .weights = s_.weights,
                   .gradients = s_.gradients,
                   .gradient_pairs = s_.gradient_pairs,
                   .log_sums = u_.log_sums + block * kTile,
                   .delta = u_.delta + block * kTile,
                   .scale = place.scale,
                   .slope = place.slope,
                   .distance = place.distance(key_block),
                   .mask = clear ? nullptr : &mask,
                   .bias = bias.beyond_slope() ? &bias.tile(key_block, /*by_key=*/true) : nullptr,
                   .slope_sums = keys && wants_slopes() ? slope_sums_ : nullptr,
                   .diagonal_sums = sums && wants_diagonals() ? diagonal_sums_ : nullptr,
                   .key_sums = sums && terms ? key_sums_ : nullptr,
                   .query_sums = queries == kNowhere || !terms ? nullptr : terms_at(queries)});
    if (sums) add_diagonals(bias, place, key_block);
    if (keys) {
      ops_.product({kTile, width_, kTile, s_.weights, u_.gradient_pairs + n, s_.v, true});
      ops_.product({kTile, width_, kTile, s_.gradients, u_.query_pairs + n, s_.k, true});
    }
    if (queries != kNowhere)
      ops_.product(
          {width_, kTile, kTile, u_.key_transposed + k, s_.gradient_pairs, q_at(queries), true});
  }

  // All tiles of a key block; `queries`: of the queries' gradients too, each block's in its place.
  void key_block(std::int64_t j, bool queries) {
    clear(s_.k);
    clear(s_.v);
    for (std::int64_t head = 0; head < a_.group(); ++head) {
      std::fill_n(slope_sums_, kLanes, 0.0F);
      std::fill_n(key_sums_, kTile, 0.0F);
      slope_of_diagonals_ = 0;
      const std::int64_t first = head * a_.query_blocks();
      const std::int64_t earlier = std::max<std::int64_t>(j - a_.blocks_before(), 0);
      for (std::int64_t n = first + earlier; n < first + a_.query_blocks(); ++n) {
        if (!walks_to(n, j)) continue;
        BlockBias bias(a_, u_.places[n]);
        if (skips(bias, n, j)) continue;
        tile(bias, n, j, queries ? n : kNowhere, true);
      }
      store_slope_part(head, j);
      store_key_terms(head, j);
    }
    float ones[kTile], scales[kTile];
    for (int i = 0; i < kTile; ++i) {
      ones[i] = 1.0F;
      scales[i] = a_.scale;
    }
    ops_.store_rows(s_.k, scales, key_target(a_, a_.k_gradient, unit_, j));
    ops_.store_rows(s_.v, ones, key_target(a_, a_.v_gradient, unit_, j));
  }

  void query_block(std::int64_t n) {
    const BlockPlace& place = u_.places[n];
    BlockBias bias(a_, place);
    clear_queries(0);
    for (std::int64_t j = u_.first_block[n]; j <= place.last_block; ++j)
      if (walks_to(n, j) && !skips(bias, n, j)) tile(bias, n, j, 0, false);
    store_queries(n, 0);
  }

 private:
  static constexpr std::int64_t kNowhere = -1;

  float* q_at(std::int64_t place) const { return s_.q + place * kTile * width_; }
  float* terms_at(std::int64_t place) const { return s_.terms + place * kTile; }

  void clear(float* tile) const {
    std::memset(tile, 0, sizeof(float) * static_cast<std::size_t>(kTile * width_));
  }

  void clear_queries(std::int64_t place) const {
    clear(q_at(place));
    std::fill_n(terms_at(place), kTile, 0.0F);
  }

  // Of query block n, from a place of the scratch.
  void store_queries(std::int64_t n, std::int64_t from) const {
    const BlockPlace& place = u_.places[n];
    ops_.store_columns(q_at(from), a_.scale, query_target(a_, a_.q_gradient, place));
    if (a_.query_term_gradient_BHT != nullptr)
      std::copy_n(terms_at(from), place.rows, a_.query_term_gradient_BHT + place.row);
  }

  bool wants_slopes() const { return a_.slope_parts_BHN != nullptr; }
  bool wants_diagonals() const { return wants_slopes() || a_.table_parts_BHPL != nullptr; }

  void add_diagonals(const BlockBias& bias, const BlockPlace& place, std::int64_t j) {
    if (a_.table_parts_BHPL != nullptr) {
      const std::int64_t parts = a_.key_parts(),
                         head = place.sequence * a_.sizes.heads + place.head;
      bias.add_to_table(j, diagonal_sums_,
                        a_.table_parts_BHPL + (head * parts + j % parts) * a_.bias.distances);
    }
    if (!wants_slopes()) return;
    for (int n = 0; n < 2 * kTile - 1; ++n)
      slope_of_diagonals_ += double{diagonal_sums_[n]} * (place.distance(j) + kTile - 1 - n);
  }

  void store_slope_part(std::int64_t head, std::int64_t j) const {
    if (!wants_slopes()) return;
    a_.slope_parts_BHN[(unit_ * a_.group() + head) * a_.key_blocks() + j] =
        slope_of_diagonals_ + std::accumulate(slope_sums_, slope_sums_ + kLanes, 0.0);
  }

  void store_key_terms(std::int64_t head, std::int64_t j) const {
    if (a_.key_term_gradient_BHS == nullptr) return;
    double* to = a_.key_term_gradient_BHS + (unit_ * a_.group() + head) * a_.sizes.keys;
    for (std::int64_t c = 0; c < a_.keys_of(j); ++c)
      to[a_.first_key(j) + c] = -double{key_sums_[c]};
  }

  static constexpr std::int64_t kNotPacked = -1;

  // Whether the forward's walk of query block n can come to key block j.
  bool walks_to(std::int64_t n, std::int64_t j) {
    if (j < u_.first_block[n] || !sees_some_of(a_, u_.places[n], j)) return false;
    if (u_.first_block[n] == kNotPacked) pack(n);
    return j >= u_.first_block[n];
  }

  // In a sweep, before a query block's first tile.
  void pack(std::int64_t n) {
    if ((n + 1) % a_.query_blocks() != 0) prefetch_queries(a_, u_.places[n + 1]);
    pack_queries(a_, u_, n);
    for (; known_keys_ <= u_.places[n].last_block; ++known_keys_) {
      u_.norms[known_keys_] = largest_norm(ops_, key_rows(a_, a_.k, unit_, known_keys_));
      running_largest(u_.norms, known_keys_, u_.reach);
    }
    u_.first_block[n] = end_of_walk(a_, u_, n);
    clear_queries(n);
  }

  bool skips(const BlockBias& bias, std::int64_t n, std::int64_t j) const {
    return skip_test(a_, u_, bias, n).nothing_from(bias.keys(j, u_.norms[j]));
  }

  const TiledAttention& a_;
  const TileOps& ops_;
  std::int64_t unit_, width_;
  bool one_sweep_;
  PackedUnit u_;
  std::int64_t known_keys_ = 0;  // in a sweep, the key blocks whose norm and reach are known
  const Scratch& s_;
  float slope_sums_[kLanes] = {}, diagonal_sums_[2 * kTile], key_sums_[kTile];
  double slope_of_diagonals_ = 0;
};

}  // namespace

std::int64_t packed_unit_bytes(const TiledAttention& a, bool one_sweep) {
  std::int64_t bytes = 0;
  packed_unit(a, nullptr, one_sweep, &bytes);
  return bytes;
}

void pack_unit_keys(const TiledAttention& a, std::int64_t unit, std::int64_t block, void* packed) {
  const PackedUnit u = packed_unit(a, packed, false);
  pack_keys(a, u, unit, block, block);
  u.norms[block] = largest_norm(*a.ops, key_rows(a, a.k, unit, block));
}

void pack_unit_queries(const TiledAttention& a, std::int64_t unit, std::int64_t block,
                       void* packed) {
  const PackedUnit u = packed_unit(a, packed, false);
  u.places[block] = block_place(a, unit, block);
  pack_queries(a, u, block);
}

void finish_packed_unit(const TiledAttention& a, void* packed) {
  const PackedUnit u = packed_unit(a, packed, false);
  for (std::int64_t j = 0; j < a.key_blocks(); ++j) running_largest(u.norms, j, u.reach);
  for (std::int64_t n = 0; n < a.unit_query_blocks(); ++n) u.first_block[n] = end_of_walk(a, u, n);
}

std::int64_t backward_scratch_bytes(const TiledAttention& a, bool one_sweep) {
  std::int64_t bytes = 0;
  scratch_in(a, one_sweep ? a.unit_query_blocks() : 1, nullptr, &bytes);
  return bytes;
}

void backward_unit(const TiledAttention& a, std::int64_t unit, void* packed, void* scratch) {
  const Scratch s = scratch_in(a, a.unit_query_blocks(), scratch);
  UnitBackward(a, unit, packed, s, true).sweep();
}

void backward_query_block(const TiledAttention& a, std::int64_t unit, std::int64_t block,
                          const void* packed, void* scratch) {
  const Scratch s = scratch_in(a, 1, scratch);
  UnitBackward(a, unit, packed, s, false).query_block(block);
}

void backward_key_part(const TiledAttention& a, std::int64_t unit, std::int64_t part,
                       const void* packed, void* scratch) {
  const Scratch s = scratch_in(a, 1, scratch);
  UnitBackward sweep(a, unit, packed, s, false);
  for (std::int64_t j = part; j < a.key_blocks(); j += a.key_parts())
    sweep.key_block(j, /*queries=*/false);
}

}  // namespace alibi
