// Attention's gradients in three kernels (FlashAttention-2, Dao 2023, algorithm 2, its loops
// apart): each row's output times its gradient; the queries' gradient by blocks of queries; the
// keys' and values' gradient by blocks of keys. Each sum has one owner and one order: no atomics,
// the same bits every time, for seven products a tile instead of five.
//
//   P = 2^(scale q.k + slope (key - query) - lse),  dV = P^T dO,  dS = P (dO V^T - delta),
//   dQ = scale dS K,  dK = scale dS^T Q
#pragma once

#include "cuda/attention_work.h"

namespace alibi {

// delta_BHT: 8 rows a block of one warp, over (rows / 8, H, B).
template <class Block>
class AttentionDelta {
 public:
  static constexpr int kRows = 8;
  static constexpr int kSharedBytes = 0;

  ALIBI_KERNEL static void run(const DeviceAttention& a, Block& block) {
    typename Block::template Lanes<float> sums;
    block.each_lane([&](int lane) { sums[lane] = quarter(a, block, lane / 4, lane % 4); });
    block.quad_sum(sums);
    block.each_lane([&](int lane) {
      const int query = block.x() * kRows + lane / 4;
      if (lane % 4 == 0 && query < a.queries)
        a.delta_BHT[a.row(block.z(), block.y(), query)] = sums[lane];
    });
  }

 private:
  ALIBI_KERNEL static float quarter(const DeviceAttention& a, Block& block, int row, int part) {
    const int query = block.x() * kRows + row;
    if (query >= a.queries) return 0;
    const std::uint16_t* output = a.output.at(block.z(), block.y(), query);
    const std::uint16_t* gradient = a.output_gradient.at(block.z(), block.y(), query);
    float sum = 0;
    for (int chunk = part; chunk * 8 < a.width; chunk += 4) {
      for (int i = 8 * chunk; i < 8 * chunk + 8; ++i)
        sum += Block::widened(output[i]) * Block::widened(gradient[i]);
    }
    return sum;
  }
};

// What both gradient kernels do to a tile of 16 x (8 kColumns) scores: to weights, and then to the
// scores' gradient. In `Tile`, element e of column tile j in `lane` is of key(lane, j, e) and
// query(lane, j, e), the latter with its position, start, lse in base 2 and delta.
struct GradientRow {
  int position, start;  // start beyond every key: the row is not there
  float lse, delta;     // lse in base 2
};

ALIBI_KERNEL GradientRow gradient_row(const DeviceAttention& a, int b, int h, int query) {
  if (query >= a.queries) return {0, a.keys, 0, 0};
  const std::int64_t row = a.row(b, h, query);
  return {a.offset() + query, a.start(b, query), a.lse_BHT[row] * kLog2OfE, a.delta_BHT[row]};
}

template <class Block>
ALIBI_KERNEL float gradient_weight(const DeviceAttention& a, float slope, const GradientRow& row,
                                   float score, int key) {
  if (key > row.position || key < row.start) return 0;
  return Block::exp2(score * a.scale + slope * static_cast<float>(key - row.position) - row.lse);
}

// dQ: kWarps warps with 16 query rows each, over (query blocks, H, B).
template <class Block, int kWidth, int kWarps>
class AttentionQueryGradient {
 public:
  static constexpr int kRows = 16 * kWarps;
  static constexpr int kQueryBytes = kRows * kWidth * 2;
  static constexpr int kKeyBytes = kKeyBlock * kWidth * 2;
  static constexpr int kBuffers = kWidth > 128 ? 1 : 2;  // of keys and values
  static constexpr int kSharedBytes = 2 * kQueryBytes + 2 * kBuffers * kKeyBytes;

  ALIBI_KERNEL AttentionQueryGradient(const DeviceAttention& a, Block& block)
      : a_(a),
        block_(block),
        range_(query_range(a, block.z(), block.y(), block.x(), kRows)),
        slope_(a.slope(range_.h)) {}

  ALIBI_KERNEL void run() {
    if (a_.first_BHM != nullptr) {
      const int first = a_.first_block(range_.b, range_.h, range_.first);
      range_.first_block = first > range_.first_block ? first : range_.first_block;
    }
    load_rows<kWarps>(block_, queries(), a_.q, a_, range_.b, range_.h, range_.first, kRows,
                      a_.queries);
    load_rows<kWarps>(block_, gradients(), a_.output_gradient, a_, range_.b, range_.h, range_.first,
                      kRows, a_.queries);
    load_keys(range_.last_block);
    prepare_rows();
    for (int n = range_.last_block; n >= range_.first_block; --n) {
      block_.wait();
      block_.sync();
      if (kBuffers == 2 && n > range_.first_block) load_keys(n - 1);
      add_block(n);
      block_.sync();
      if (kBuffers == 1 && n > range_.first_block) load_keys(n - 1);
    }
    write();
  }

 private:
  template <class T>
  using Lanes = typename Block::template Lanes<T>;
  static constexpr int kTiles = kKeyBlock / 8;

  ALIBI_KERNEL static SharedRows<kWidth> queries() { return {0}; }
  ALIBI_KERNEL static SharedRows<kWidth> gradients() { return {kQueryBytes}; }
  ALIBI_KERNEL static SharedRows<kWidth> keys(int n) {
    return {static_cast<std::uint32_t>(2 * kQueryBytes + n % kBuffers * 2 * kKeyBytes)};
  }
  ALIBI_KERNEL static SharedRows<kWidth> values(int n) {
    return {keys(n).start + static_cast<std::uint32_t>(kKeyBytes)};
  }

  ALIBI_KERNEL void load_keys(int n) {
    const int head = range_.h / a_.group(), first = n * kKeyBlock;
    load_rows<kWarps>(block_, keys(n), a_.k, a_, range_.b, head, first, kKeyBlock, a_.keys);
    load_rows<kWarps>(block_, values(n), a_.v, a_, range_.b, head, first, kKeyBlock, a_.keys);
  }

  ALIBI_KERNEL void prepare_rows() {
    ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
      block_.each_lane([&](int lane) {
        rows_[half][lane] = gradient_row(a_, range_.b, range_.h,
                                         range_.first + block_.warp() * 16 + lane / 4 + 8 * half);
      });
    }
    clear(block_, sums_);
  }

  ALIBI_KERNEL void add_block(int n) {
    clear(block_, scores_);
    clear(block_, products_);
    ALIBI_UNROLL for (int w = 0; w < kWidth / 16; ++w) {
      const Lanes<Words4> q = left_of(block_, queries(), block_.warp() * 16, w);
      const Lanes<Words4> g = left_of(block_, gradients(), block_.warp() * 16, w);
      ALIBI_UNROLL for (int j = 0; j < kTiles; j += 2) {
        const Lanes<Words4> k = right_rows(block_, keys(n), 8 * j, w);
        const Lanes<Words4> v = right_rows(block_, values(n), 8 * j, w);
        block_.multiply(scores_[j], q, k, 0);
        block_.multiply(scores_[j + 1], q, k, 2);
        block_.multiply(products_[j], g, v, 0);
        block_.multiply(products_[j + 1], g, v, 2);
      }
    }
    ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
          const GradientRow& row = rows_[e / 2][lane];
          const int key = n * kKeyBlock + 8 * j + 2 * (lane % 4) + e % 2;
          float& x = scores_[j][lane].v[e];
          x = gradient_weight<Block>(a_, slope_, row, x, key) *
              (products_[j][lane].v[e] - row.delta);
        }
      });
    }
    ALIBI_UNROLL for (int j = 0; j < kTiles; j += 2) {
      const Lanes<Words4> left = left_of_sums(block_, scores_[j], scores_[j + 1]);
      ALIBI_UNROLL for (int w = 0; w < kWidth / 16; ++w) {
        const Lanes<Words4> k = right_columns(block_, keys(n), 8 * j, w);
        block_.multiply(sums_[2 * w], left, k, 0);
        block_.multiply(sums_[2 * w + 1], left, k, 2);
      }
    }
  }

  ALIBI_KERNEL void write() {
    const float scale = a_.scale * kLn2;
    block_.each_lane([&](int lane) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        const int row = block_.warp() * 16 + lane / 4 + 8 * half;
        if (row >= range_.count) continue;
        std::uint16_t* out = a_.q_gradient.at(range_.b, range_.h, range_.first + row);
        ALIBI_UNROLL for (int w = 0; w < kWidth / 8; ++w) {
          const int column = 8 * w + 2 * (lane % 4);
          if (column >= a_.width) continue;
          const Floats4 x = sums_[w][lane];
          Block::store(out + column, Block::pair(x.v[2 * half] * scale, x.v[2 * half + 1] * scale));
        }
      }
    });
  }

  const DeviceAttention& a_;
  Block& block_;
  QueryRange range_;
  float slope_;
  Lanes<GradientRow> rows_[2];
  Lanes<Floats4> scores_[kTiles], products_[kTiles], sums_[kWidth / 8];
};

// dK and dV: a block has 64 keys, 16 a warp, and kWidth / kParts of their columns; over (key blocks
// x kParts, G, B). It walks the queries of all heads that share the keys, kQueries at a time.
template <class Block, int kWidth, int kParts, int kQueries>
class AttentionKeyGradient {
 public:
  static constexpr int kWarps = kKeyBlock / 16;
  static constexpr int kKeyBytes = kKeyBlock * kWidth * 2;
  static constexpr int kQueryBytes = kQueries * kWidth * 2;
  static constexpr int kBuffers = kWidth > 128 ? 1 : 2;  // of queries and gradients
  static constexpr int kRowsStart = 2 * kKeyBytes + 2 * kBuffers * kQueryBytes;
  static constexpr int kSharedBytes = kRowsStart + kQueries * static_cast<int>(sizeof(GradientRow));

  ALIBI_KERNEL AttentionKeyGradient(const DeviceAttention& a, Block& block)
      : a_(a), block_(block), n_(block.x() / kParts), part_(block.x() % kParts) {}

  ALIBI_KERNEL void run() {
    const int b = block_.z(), g = block_.y(), first = n_ * kKeyBlock;
    load_rows<kWarps>(block_, keys(), a_.k, a_, b, g, first, kKeyBlock, a_.keys);
    load_rows<kWarps>(block_, values(), a_.v, a_, b, g, first, kKeyBlock, a_.keys);
    clear(block_, key_sums_);
    clear(block_, value_sums_);
    int count = 0;  // of tiles, which take turns in the buffers
    Tile tile = next({g * a_.group(), first_tile() - 1});
    if (tile.h >= 0) load_queries(tile, count);
    while (tile.h >= 0) {
      const Tile after = next(tile);
      block_.wait();
      prepare_rows(tile);
      block_.sync();
      if (kBuffers == 2 && after.h >= 0) load_queries(after, count + 1);
      add_tile(tile, count);
      block_.sync();
      if (kBuffers == 1 && after.h >= 0) load_queries(after, count + 1);
      tile = after;
      ++count;
    }
    block_.wait();
    write(b, g);
  }

 private:
  template <class T>
  using Lanes = typename Block::template Lanes<T>;
  static constexpr int kTiles = kQueries / 8;
  static constexpr int kColumns = kWidth / kParts;
  static_assert(kColumns % 16 == 0, "a part holds whole tiles");

  struct Tile {
    int h, index;  // queries index * kQueries on; h < 0: there is none
  };

  ALIBI_KERNEL static SharedRows<kWidth> keys() { return {0}; }
  ALIBI_KERNEL static SharedRows<kWidth> values() { return {kKeyBytes}; }
  ALIBI_KERNEL static SharedRows<kWidth> queries(int count) {
    return {static_cast<std::uint32_t>(2 * kKeyBytes + count % kBuffers * 2 * kQueryBytes)};
  }
  ALIBI_KERNEL static SharedRows<kWidth> gradients(int count) {
    return {queries(count).start + static_cast<std::uint32_t>(kQueryBytes)};
  }
  ALIBI_KERNEL GradientRow& row(int query) {
    return block_.template at<GradientRow>(
        static_cast<std::uint32_t>(kRowsStart + query * static_cast<int>(sizeof(GradientRow))));
  }

  // The first tile with a query that stands at the block's first key or behind it.
  ALIBI_KERNEL int first_tile() const {
    const int query = n_ * kKeyBlock - a_.offset();
    return query < 0 ? 0 : query / kQueries;
  }

  // The next tile, over all heads of the group, with a query that sees a key of the block.
  ALIBI_KERNEL Tile next(Tile tile) const {
    const int last_head = (block_.y() + 1) * a_.group() - 1;
    const int tiles = (a_.queries + kQueries - 1) / kQueries;
    while (true) {
      ++tile.index;
      if (tile.index >= tiles || begins_later(tile.index * kQueries)) {
        if (tile.h == last_head) return {-1, 0};
        tile = {tile.h + 1, first_tile() - 1};
      } else if (visits(tile)) {
        return tile;
      }
    }
  }
  ALIBI_KERNEL bool begins_later(int query) const {
    return a_.start(block_.z(), query) >= (n_ + 1) * kKeyBlock;
  }
  ALIBI_KERNEL bool visits(const Tile& tile) const {
    if (a_.first_BHM == nullptr) return true;
    return a_.first_block(block_.z(), tile.h, tile.index * kQueries) <= n_;
  }

  ALIBI_KERNEL void load_queries(const Tile& tile, int count) {
    const int b = block_.z(), first = tile.index * kQueries;
    load_rows<kWarps>(block_, queries(count), a_.q, a_, b, tile.h, first, kQueries, a_.queries);
    load_rows<kWarps>(block_, gradients(count), a_.output_gradient, a_, b, tile.h, first, kQueries,
                      a_.queries);
  }

  ALIBI_KERNEL void prepare_rows(const Tile& tile) {
    for (int base = block_.warp() * 32; base < kQueries; base += kWarps * 32) {
      block_.each_lane([&](int lane) {
        if (base + lane < kQueries)
          row(base + lane) =
              gradient_row(a_, block_.z(), tile.h, tile.index * kQueries + base + lane);
      });
    }
  }

  ALIBI_KERNEL void add_tile(const Tile& tile, int count) {
    clear(block_, scores_);
    clear(block_, products_);
    ALIBI_UNROLL for (int w = 0; w < kWidth / 16; ++w) {
      const Lanes<Words4> k = left_of(block_, keys(), block_.warp() * 16, w);
      const Lanes<Words4> v = left_of(block_, values(), block_.warp() * 16, w);
      ALIBI_UNROLL for (int j = 0; j < kTiles; j += 2) {
        const Lanes<Words4> q = right_rows(block_, queries(count), 8 * j, w);
        const Lanes<Words4> g = right_rows(block_, gradients(count), 8 * j, w);
        block_.multiply(scores_[j], k, q, 0);
        block_.multiply(scores_[j + 1], k, q, 2);
        block_.multiply(products_[j], v, g, 0);
        block_.multiply(products_[j + 1], v, g, 2);
      }
    }
    weigh(a_.slope(tile.h));
    ALIBI_UNROLL for (int j = 0; j < kTiles; j += 2) {
      const Lanes<Words4> weights = left_of_sums(block_, scores_[j], scores_[j + 1]);
      const Lanes<Words4> changes = left_of_sums(block_, products_[j], products_[j + 1]);
      ALIBI_UNROLL for (int w = 0; w < kColumns / 16; ++w) {
        const int column = part_ * (kColumns / 16) + w;
        const Lanes<Words4> g = right_columns(block_, gradients(count), 8 * j, column);
        const Lanes<Words4> q = right_columns(block_, queries(count), 8 * j, column);
        block_.multiply(value_sums_[2 * w], weights, g, 0);
        block_.multiply(value_sums_[2 * w + 1], weights, g, 2);
        block_.multiply(key_sums_[2 * w], changes, q, 0);
        block_.multiply(key_sums_[2 * w + 1], changes, q, 2);
      }
    }
  }

  // scores_ become weights, products_ the scores' gradients. Rows are keys, columns queries.
  ALIBI_KERNEL void weigh(float slope) {
    ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
          const GradientRow query = row(8 * j + 2 * (lane % 4) + e % 2);
          const int key = n_ * kKeyBlock + block_.warp() * 16 + lane / 4 + 8 * (e / 2);
          float& x = scores_[j][lane].v[e];
          x = gradient_weight<Block>(a_, slope, query, x, key);
          float& y = products_[j][lane].v[e];
          y = x * (y - query.delta);
        }
      });
    }
  }

  ALIBI_KERNEL void write(int b, int g) {
    const float scale = a_.scale * kLn2;
    block_.each_lane([&](int lane) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        const int key = n_ * kKeyBlock + block_.warp() * 16 + lane / 4 + 8 * half;
        if (key >= a_.keys) continue;
        ALIBI_UNROLL for (int w = 0; w < kColumns / 8; ++w) {
          const int column = part_ * kColumns + 8 * w + 2 * (lane % 4);
          if (column >= a_.width) continue;
          const Floats4 k = key_sums_[w][lane], v = value_sums_[w][lane];
          Block::store(a_.k_gradient.at(b, g, key) + column,
                       Block::pair(k.v[2 * half] * scale, k.v[2 * half + 1] * scale));
          Block::store(a_.v_gradient.at(b, g, key) + column,
                       Block::pair(v.v[2 * half], v.v[2 * half + 1]));
        }
      }
    });
  }

  const DeviceAttention& a_;
  Block& block_;
  int n_, part_;
  Lanes<Floats4> scores_[kTiles], products_[kTiles];
  Lanes<Floats4> key_sums_[kColumns / 8], value_sums_[kColumns / 8];
};

}  // namespace alibi
