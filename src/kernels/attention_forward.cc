// One query block: walk its key blocks from the nearest outwards, keeping per row a reference, a
// sum 16 lanes wide and an output tile, until no farther block can matter.
#include <cstring>

#include "kernels/attention_blocks.h"
#include "kernels/attention_skip.h"

namespace alibi {
namespace {

constexpr float kLn2 = 0.69314718F;
// The bound on the rows' sums is brought up to date every so many visited blocks.
constexpr int kRefresh = 4;

struct PackedKeys {
  char* columns;  // [key blocks] K^T, right operands
  char* pairs;    // [key blocks] V, right operands
  float* norms;   // [key blocks] largest key norm of each
  float* reach;   // [key blocks] largest key norm of it and all earlier blocks
};

PackedKeys packed_keys(const TiledAttention& a, const void* memory, std::int64_t* bytes = nullptr) {
  Carver carve{const_cast<void*>(memory)};
  PackedKeys keys;
  keys.columns = carve.take<char>(a.packed_key_blocks() * a.tile_bytes());
  keys.pairs = carve.take<char>(a.packed_key_blocks() * a.tile_bytes());
  keys.norms = carve.take<float>(a.packed_key_blocks());
  keys.reach = carve.take<float>(a.packed_key_blocks());
  if (bytes != nullptr) *bytes = carve.bytes;
  return keys;
}

struct Scratch {
  char* queries;
  float* scores;
  char* weights;
  float* output;
  float* sums;     // [64][kLanes]
  float* highest;  // [64]
};

Scratch scratch_in(const TiledAttention& a, void* memory, std::int64_t* bytes = nullptr) {
  Carver carve{memory};
  Scratch s;
  s.queries = carve.take<char>(a.tile_bytes());
  s.scores = carve.take<float>(kTile * kTile);
  s.weights = carve.take<char>(kTile * kTile * a.ops->element_bytes);
  s.output = carve.take<float>(kTile * a.sizes.head_width);
  s.sums = carve.take<float>(kTile * kLanes);
  s.highest = carve.take<float>(kTile);
  if (bytes != nullptr) *bytes = carve.bytes;
  return s;
}

class ForwardBlock {
 public:
  ForwardBlock(const TiledAttention& a, const BlockPlace& place, const PackedKeys& keys,
               const Scratch& scratch)
      : a_(a),
        ops_(*a.ops),
        place_(place),
        keys_(keys),
        s_(scratch),
        bias_(a, place),
        skip_(make_skip_test(a.skip, a.sizes.keys, bias_.bound(), {norms_, low_})) {
    const TileRows rows = query_rows(a, a.q, place);
    width_ = rows.width;
    // A few shapes only, each compiled once: short blocks (generation) need not pay for 64 rows.
    product_rows_ = rows.count <= 16 ? 16 : kTile;
    ops_.pack->rows(rows, s_.queries);
    prefetch_for_write(query_target(a, a.output, place), ops_.bf16_memory ? 2 : 4);
    if (skip_.active) ops_.pack->norms(rows, norms_);
    for (int i = 0; i < kTile; ++i) {
      norms_[i] *= place.scale;
      low_[i] = i < rows.count ? kNever : -kNever;
      s_.highest[i] = kNever;
    }
    std::memset(s_.sums, 0, sizeof(float) * kTile * kLanes);
  }

  void run() {
    int visited = 0;
    for (std::int64_t j = visible_until(a_, place_, place_.last_block); j >= 0;
         j = visible_until(a_, place_, j - 1)) {
      if (skip_.active && visited % kRefresh == 1) update_low();
      if (skip_.nothing_from(bias_.keys_so_far(j, keys_.reach[j]))) break;
      if (skip_.nothing_from(bias_.keys(j, keys_.norms[j]))) continue;
      visit(j, visited == 0);
      ++visited;
    }
    if (a_.visited_BHN != nullptr) a_.visited_BHN[place_.index] = visited;
    finish();
  }

 private:
  void visit(std::int64_t j, bool first) {
    const bool clear = sees_all_of(a_, place_, j);
    if (!clear) mask_ = block_mask(a_, place_, j);
    ops_.product({product_rows_, kTile, width_, s_.queries, keys_.columns + j * a_.tile_bytes(),
                  s_.scores, false});
    ops_.softmax({.scores = s_.scores,
                  .weights = s_.weights,
                  .highest = s_.highest,
                  .sums = s_.sums,
                  .output = s_.output,
                  .width = width_,
                  .rows = place_.rows,
                  .scale = place_.scale,
                  .slope = place_.slope,
                  .distance = place_.distance(j),
                  .mask = clear ? nullptr : &mask_,
                  .bias = bias_.beyond_slope() ? &bias_.tile(j, /*by_key=*/false) : nullptr});
    ops_.product({product_rows_, width_, kTile, s_.weights, keys_.pairs + j * a_.tile_bytes(),
                  s_.output, !first});
  }

  // Rows that have seen no key keep kNever: nothing is skipped yet.
  void update_low() {
    const bool beyond = a_.skip == SkipRule::kEpsilon;
    float logs[kTile], reciprocals[kTile];
    if (beyond) ops_.log_sums(s_.highest, s_.sums, logs, reciprocals);
    for (int i = 0; i < place_.rows; ++i)
      low_[i] = s_.highest[i] == kNever ? kNever : (beyond ? logs : s_.highest)[i];
  }

  void finish() {
    float logs[kTile], factors[kTile];
    ops_.log_sums(s_.highest, s_.sums, logs, factors);
    for (int i = 0; i < place_.rows; ++i) a_.lse_BHT[place_.row + i] = logs[i] * kLn2;
    ops_.store_rows(s_.output, factors, query_target(a_, a_.output, place_));
  }

  const TiledAttention& a_;
  const TileOps& ops_;
  const BlockPlace& place_;
  const PackedKeys& keys_;
  const Scratch& s_;
  BlockBias bias_;
  TileMask mask_;
  float norms_[kTile] = {}, low_[kTile];
  SkipTest skip_;
  int width_ = 0;
  std::int64_t product_rows_ = kTile;
};

}  // namespace

std::int64_t packed_keys_bytes(const TiledAttention& a) {
  std::int64_t bytes = 0;
  packed_keys(a, nullptr, &bytes);
  return bytes;
}

void pack_key_block(const TiledAttention& a, std::int64_t unit, std::int64_t block, void* packed) {
  const PackedKeys keys = packed_keys(a, packed);
  const TileRows k = key_rows(a, a.k, unit, block);
  a.ops->pack->columns(k, keys.columns + block * a.tile_bytes());
  a.ops->pack->pairs(key_rows(a, a.v, unit, block), keys.pairs + block * a.tile_bytes());
  keys.norms[block] = largest_norm(*a.ops, k);
}

void reach_key_block(const TiledAttention& a, std::int64_t block, void* packed) {
  const PackedKeys keys = packed_keys(a, packed);
  running_largest(keys.norms, block, keys.reach);
}

std::int64_t forward_scratch_bytes(const TiledAttention& a) {
  std::int64_t bytes = 0;
  scratch_in(a, nullptr, &bytes);
  return bytes;
}

void forward_block(const TiledAttention& a, std::int64_t unit, std::int64_t block,
                   const void* packed, void* scratch) {
  const BlockPlace place = block_place(a, unit, block);
  const PackedKeys keys = packed_keys(a, packed);
  const Scratch parts = scratch_in(a, scratch);
  ForwardBlock(a, place, keys, parts).run();
}

}  // namespace alibi
