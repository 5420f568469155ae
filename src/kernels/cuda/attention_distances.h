// The gradient of a bias by distance: the sum of the scores' gradients of all pairs so far apart.
//
// A block of the grid (X, H, B) owns the tiles of 64 queries by 64 keys whose blocks lie x -
// blocks_before() apart, which hold 127 distances, and walks down their diagonal. So each sum has
// one owner and one order, without atomics and without a table for each block of keys, for two
// products more a tile. A distance belongs to two neighbours of the grid: who asked adds them.
#pragma once

#include "kernels/cuda/attention_backward.h"

namespace alibi {

// distance_gradient_BHXU: 128 sums a block, of the distances from first_distance(a, x) on.
ALIBI_KERNEL int first_distance(const DeviceAttention& a, int x) {
  return a.offset() + (x - a.blocks_before() - 1) * kKeyBlock;
}

template <class Block, int kWidth, BiasKind kKind>
class AttentionDistanceGradient {
 public:
  static constexpr int kWarps = kKeyBlock / 16;
  static constexpr int kTileBytes = kKeyBlock * kWidth * 2;
  static constexpr int kSharedBytes = 4 * kTileBytes;

  ALIBI_KERNEL AttentionDistanceGradient(const DeviceAttention& a, Block& block)
      : a_(a),
        block_(block),
        h_(last_first(block.y(), a.heads)),
        apart_(block.x() - a.blocks_before()),
        tile_(a, block, block.z(), h_) {}

  ALIBI_KERNEL void run() {
    ALIBI_UNROLL for (int m = 0; m < kDiagonals; ++m) {
      ALIBI_UNROLL for (int e = 0; e < 2; ++e)
          block_.each_lane([&](int lane) { sums_[m][e][lane] = 0; });
    }
    for (int m = next((apart_ > 0 ? apart_ : 0) - 1); m >= 0; m = next(m)) {
      block_.sync();  // what is loaded over was read
      load(m);
      block_.wait();
      block_.sync();
      add_tile(m);
    }
    block_.sync();
    share_sums();
    block_.sync();
    write();
  }

 private:
  template <class T>
  using Lanes = typename Block::template Lanes<T>;
  static constexpr int kTiles = kKeyBlock / 8;
  static constexpr int kDiagonals = kTiles + 1;  // of a warp's 8 x 8 squares
  static_assert(kWarps * 32 * 2 * kDiagonals * 4 <= kSharedBytes, "lanes' sums fit");
  static_assert(kWarps * 32 == 2 * kKeyBlock, "a thread writes one sum");

  ALIBI_KERNEL static SharedRows<kWidth> rows(int i) {
    return {static_cast<std::uint32_t>(i * kTileBytes)};
  }

  // The next block of queries after m whose tile some of them see and the forward visited; -1:
  // none.
  ALIBI_KERNEL int next(int m) const {
    for (++m; m < a_.query_blocks() && m - apart_ < a_.key_blocks(); ++m) {
      const int query = m * kKeyBlock, n = m - apart_;
      if (a_.start(block_.z(), query) >= (n + 1) * kKeyBlock) continue;
      if (kPatterned<kKind> && a_.shown(h_, m, n) < 0) continue;
      if (a_.first_BHM == nullptr || a_.first_block(block_.z(), h_, query) <= n) return m;
    }
    return -1;
  }

  ALIBI_KERNEL void load(int m) {
    const int b = block_.z(), query = m * kKeyBlock, group_head = h_ / a_.group();
    load_rows<kWarps, kKeyBlock>(block_, rows(0), a_.q, a_, b, h_, query, a_.queries);
    load_rows<kWarps, kKeyBlock>(block_, rows(1), a_.output_gradient, a_, b, h_, query, a_.queries);
    load_key_block<kWarps>(block_, rows(2), rows(3), a_, b, group_head, m - apart_);
  }

  ALIBI_KERNEL void add_tile(int m) {
    const int n = m - apart_;
    tile_.prepare_rows(block_.z(), h_, m * kKeyBlock);
    const QueryRange range = query_range(a_, block_.z(), h_, m, kKeyBlock);
    tile_.compute(range, rows(0), rows(1), rows(2), rows(3), n);
    ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int e = 0; e < 4; ++e) sums_[kTiles - 1 - j + e / 2][e % 2][lane] +=
            tile_.changes[j][lane].v[e];
      });
    }
  }

  ALIBI_KERNEL float& shared_sum(int thread, int m, int e) {
    return block_.template at<float>(
        static_cast<std::uint32_t>(4 * ((2 * m + e) * kWarps * 32 + thread)));
  }

  ALIBI_KERNEL void share_sums() {
    ALIBI_UNROLL for (int m = 0; m < kDiagonals; ++m) {
      ALIBI_UNROLL for (int e = 0; e < 2; ++e) {
        block_.each_lane(
            [&](int lane) { shared_sum(block_.warp() * 32 + lane, m, e) = sums_[m][e][lane]; });
      }
    }
  }

  // A lane's sum [m][e] is of the distance 16 warp + lane / 4 - 2 (lane % 4) + 8 (m - 7) - e behind
  // that of the tile's corner, which is sum 64. Of each warp and each e and lane % 4 one lane's has
  // it, or none.
  ALIBI_KERNEL void write() {
    block_.each_lane([&](int lane) {
      const int u = block_.warp() * 32 + lane;
      float sum = 0;
      for (int warp = 0; warp < kWarps; ++warp) {
        for (int turn = 0; turn < 8; ++turn) {
          const int e = turn % 2, column = turn / 2;
          const int behind = u - kKeyBlock - 16 * warp + 2 * column + e;  // lane / 4 + 8 (m - 7)
          const int row = behind & 7, m = (behind - row) / 8 + kTiles - 1;
          if (m >= 0 && m < kDiagonals) sum += shared_sum(warp * 32 + 4 * row + column, m, e);
        }
      }
      const std::int64_t head = static_cast<std::int64_t>(block_.z()) * a_.heads + h_;
      a_.distance_gradient_BHXU[(head * a_.distance_blocks() + block_.x()) * 2 * kKeyBlock + u] =
          sum;
    });
  }

  const DeviceAttention& a_;
  Block& block_;
  int h_, apart_;
  QueryKeyTile<Block, kWidth, kKind> tile_;
  Lanes<float> sums_[kDiagonals][2];
};

}  // namespace alibi
