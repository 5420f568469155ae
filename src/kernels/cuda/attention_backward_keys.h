// The keys' and values' gradient: the third kernel of attention_backward.h.
#pragma once

#include "kernels/cuda/attention_backward.h"

namespace alibi {

// dK and dV: a block has 64 keys, kRowTiles x 16 a warp, and kWidth / kParts of their columns; over
// (key blocks x kParts, G, B). It walks the queries of all heads that share the keys, kQueries at a
// time.
template <class Block, int kWidth, int kParts, int kRowTiles, int kQueries, BiasKind kKind>
class AttentionKeyGradient {
 public:
  static constexpr int kWarps = kKeyBlock / (16 * kRowTiles);
  static constexpr int kKeyBytes = kKeyBlock * kWidth * 2;
  static constexpr int kQueryBytes = kQueries * kWidth * 2;
  static constexpr int kBuffers = kWidth > 128 ? 1 : 2;  // of queries and gradients
  static constexpr int kRowBytes = 16;                   // of a QueryRow
  static constexpr int kRowsStart = 2 * kKeyBytes + 2 * kBuffers * kQueryBytes;
  static constexpr int kSharedBytes = kRowsStart + kQueries * kRowBytes;

  ALIBI_KERNEL AttentionKeyGradient(const DeviceAttention& a, Block& block)
      : a_(a),
        block_(block),
        g_(last_first(block.y(), a.key_value_heads)),
        n_(block.x() / kParts),
        part_(block.x() % kParts) {}

  ALIBI_KERNEL void run() {
    const int b = block_.z();
    load_key_block<kWarps>(block_, keys(), values(), a_, b, g_, n_);
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      clear(block_, key_sums_[r]);
      clear(block_, value_sums_[r]);
    }
    clear_terms();
    int count = 0;  // of tiles, which take turns in the buffers
    Tile tile = next(before_head(g_ * a_.group()));
    if (tile.h >= 0) load_queries(tile, count);
    while (tile.h >= 0) {
      const Tile after = next(tile);
      block_.wait();
      const HeadBias<kKind> bias(a_, b, tile.h);
      prepare_rows(tile, bias);
      block_.sync();
      if (kBuffers == 2 && after.h >= 0) load_queries(after, count + 1);
      add_tile(tile, bias, count);
      block_.sync();
      if (kBuffers == 1 && after.h >= 0) load_queries(after, count + 1);
      if constexpr (kKind == BiasKind::kTerms) {
        if (after.h != tile.h) write_terms(b, tile.h);
      }
      tile = after;
      ++count;
    }
    block_.wait();
    write(b);
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

  // A query in shared memory, where keys are counted from the block's first.
  struct alignas(16) QueryRow {
    int last, first;  // of the keys it sees
    float bias;       // of its weight for the first key: the score's less lse
    float delta;
  };

  ALIBI_KERNEL static SharedRows<kWidth> keys() { return {0}; }
  ALIBI_KERNEL static SharedRows<kWidth> values() { return {kKeyBytes}; }
  ALIBI_KERNEL static SharedRows<kWidth> queries(int count) {
    return {static_cast<std::uint32_t>(2 * kKeyBytes + count % kBuffers * 2 * kQueryBytes)};
  }
  ALIBI_KERNEL static SharedRows<kWidth> gradients(int count) {
    return {queries(count).start + static_cast<std::uint32_t>(kQueryBytes)};
  }
  ALIBI_KERNEL QueryRow& row(int query) {
    return block_.template at<QueryRow>(static_cast<std::uint32_t>(kRowsStart + query * kRowBytes));
  }
  ALIBI_KERNEL static int query_of(int lane, int j, int e) {
    return 8 * j + 2 * (lane % 4) + e % 2;
  }
  // The first of two keys, 8 apart, that a lane has in sums of row tile r.
  ALIBI_KERNEL int first_row(int lane, int r) const {
    return (block_.warp() * kRowTiles + r) * 16 + lane / 4;
  }

  // The first tile with a query at the block's first key or behind it.
  ALIBI_KERNEL int first_tile() const {
    const int query = n_ * kKeyBlock - a_.offset();
    return query < 0 ? 0 : query / kQueries;
  }

  // The next tile, over all heads of the group, with a query that sees a key of the block.
  ALIBI_KERNEL Tile next(Tile tile) {
    const int last_head = (g_ + 1) * a_.group() - 1;
    while (true) {
      ++tile.index;
      if constexpr (kPatterned<kKind>) tile.index = shown_from(tile);
      if (tile.index >= tiles_ || begins_later(tile.index * kQueries)) {
        if (tile.h == last_head) return {-1, 0};
        tile = before_head(tile.h + 1);
      } else if (visits(tile)) {
        return tile;
      }
    }
  }
  ALIBI_KERNEL Tile before_head(int h) {
    tiles_ = tiles_of(h);
    return {h, first_tile() - 1};
  }
  // Tiles of head h up to the last that visits the block. All lanes look for it at once: one tile
  // after another, those beyond the bias's reach, most of a long text, would each cost a load's
  // latency.
  ALIBI_KERNEL int tiles_of(int h) {
    const int tiles = (a_.queries + kQueries - 1) / kQueries;
    if (a_.first_BHM == nullptr) return tiles;
    const int first = first_tile() * kQueries / a_.first_rows,
              blocks = (a_.queries + a_.first_rows - 1) / a_.first_rows;
    Lanes<float> visited;                          // whole numbers, far below 2^24
    const int turns = (blocks - first + 31) / 32;  // the same for every lane
    block_.each_lane([&](int lane) {
      int last = -1;
      for (int i = 0; i < turns; ++i) {
        const int block = first + 32 * i + lane, m = block < blocks ? block : blocks - 1;
        last = a_.first_block(block_.z(), h, m * a_.first_rows) <= n_ ? m : last;
      }
      visited[lane] = static_cast<float>(last);
    });
    block_.warp_max(visited);
    const int end = (static_cast<int>(visited[0]) + 1) * a_.first_rows / kQueries;
    return end < tiles ? end : tiles;
  }
  // The tile, or the first one behind it that a rule shows something to.
  ALIBI_KERNEL int shown_from(const Tile& tile) const {
    const int m = tile.index * kQueries / kKeyBlock, next = a_.shown_from(tile.h, n_, m);
    return next == m ? tile.index : next * (kKeyBlock / kQueries);
  }
  ALIBI_KERNEL bool begins_later(int query) const {
    return a_.start(block_.z(), query) >= (n_ + 1) * kKeyBlock;
  }
  ALIBI_KERNEL bool visits(const Tile& tile) const {
    if (a_.first_BHM == nullptr) return true;
    return a_.first_block(block_.z(), tile.h, tile.index * kQueries) <= n_;
  }

  // Whether every query of the tile is there and sees every key of the block. Documents follow one
  // another: the last query's starts last.
  ALIBI_KERNEL bool whole(const Tile& tile) const {
    const int first = tile.index * kQueries, last = first + kQueries - 1;
    return last < a_.queries && a_.offset() + first >= (n_ + 1) * kKeyBlock - 1 &&
           a_.start(block_.z(), last) <= n_ * kKeyBlock;
  }

  ALIBI_KERNEL void load_queries(const Tile& tile, int count) {
    const int b = block_.z(), first = tile.index * kQueries;
    load_rows<kWarps, kQueries>(block_, queries(count), a_.q, a_, b, tile.h, first, a_.queries);
    load_rows<kWarps, kQueries>(block_, gradients(count), a_.output_gradient, a_, b, tile.h, first,
                                a_.queries);
  }

  ALIBI_KERNEL void prepare_rows(const Tile& tile, const HeadBias<kKind>& bias) {
    for (int base = block_.warp() * 32; base < kQueries; base += kWarps * 32) {
      block_.each_lane([&](int lane) {
        if (base + lane >= kQueries) return;
        const GradientRow query =
            gradient_row(a_, bias, block_.z(), tile.h, tile.index * kQueries + base + lane);
        const int first = n_ * kKeyBlock;
        row(base + lane) = {query.position - first, query.start - first,
                            bias.of_row(query.position, query.term, n_, first) - query.lse,
                            query.delta};
      });
    }
  }

  ALIBI_KERNEL void add_tile(const Tile& tile, const HeadBias<kKind>& bias, int count) {
    two_products<kRowTiles>(block_, scores_, keys(), queries(count), products_, values(),
                            gradients(count));
    weigh(tile, bias);
    if (!whole(tile)) mask();
    if constexpr (kPatterned<kKind>) hide(tile);
    subtract();
    ALIBI_UNROLL for (int j = 0; j < kTiles; j += 2) {
      Lanes<Words4> weights[kRowTiles], changes[kRowTiles];
      ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
        weights[r] = left_of_sums(block_, scores_[r * kTiles + j], scores_[r * kTiles + j + 1]);
        changes[r] = left_of_sums(block_, products_[r * kTiles + j], products_[r * kTiles + j + 1]);
      }
      ALIBI_UNROLL for (int w = 0; w < kColumns / 16; ++w) {
        const int column = part_ * (kColumns / 16) + w;
        const Lanes<Words4> g = right_columns(block_, gradients(count), 8 * j, column);
        const Lanes<Words4> q = right_columns(block_, queries(count), 8 * j, column);
        ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
          block_.multiply(value_sums_[r][2 * w], weights[r], g, 0);
          block_.multiply(value_sums_[r][2 * w + 1], weights[r], g, 2);
          block_.multiply(key_sums_[r][2 * w], changes[r], q, 0);
          block_.multiply(key_sums_[r][2 * w + 1], changes[r], q, 2);
        }
      }
    }
  }

  // Products to weights. Rows are keys, columns queries.
  ALIBI_KERNEL void weigh(const Tile& tile, const HeadBias<kKind>& head_bias) {
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      block_.each_lane([&](int lane) {
        const int query = a_.offset() + tile.index * kQueries + query_of(lane, 0, 0);
        const auto bias = head_bias.tile(query, n_ * kKeyBlock);
        ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
          ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
            float& x = scores_[r * kTiles + j][lane].v[e];
            const float part = bias.part(8 * j + e % 2, first_row(lane, r) + 8 * (e / 2));
            x = Block::exp2(x * a_.scale + (row(query_of(lane, j, e)).bias + part));
          }
        }
      });
    }
  }

  ALIBI_KERNEL void mask() {
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
        block_.each_lane([&](int lane) {
          ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
            const QueryRow& query = row(query_of(lane, j, e));
            const int key = first_row(lane, r) + 8 * (e / 2);
            float& x = scores_[r * kTiles + j][lane].v[e];
            x = key <= query.last && key >= query.first ? x : 0;
          }
        });
      }
    }
  }

  // What the head's rule hides.
  ALIBI_KERNEL void hide(const Tile& tile) {
    const int query = tile.index * kQueries;
    const int shown = a_.shown(tile.h, query / kKeyBlock, n_);
    if (shown == 0) return;
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        block_.each_lane([&](int lane) {
          const int key = first_row(lane, r) + 8 * half;
          const std::uint64_t bits =
              a_.shown_bits(shown, kKeyBlock + key) >> (query % kKeyBlock + 2 * (lane % 4));
          keep_shown<kTiles>(scores_ + r * kTiles, lane, half, bits, 0);
        });
      }
    }
  }

  // products_ become the scores' gradients.
  ALIBI_KERNEL void subtract() {
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
        block_.each_lane([&](int lane) {
          ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
            float& y = products_[r * kTiles + j][lane].v[e];
            y = scores_[r * kTiles + j][lane].v[e] * (y - row(query_of(lane, j, e)).delta);
            if constexpr (kKind == BiasKind::kTerms) term_sums_[r][e / 2][lane] += y;
          }
        });
      }
    }
  }

  ALIBI_KERNEL void clear_terms() {
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half)
          block_.each_lane([&](int lane) { term_sums_[r][half][lane] = 0; });
    }
  }

  // Of the head that was the last.
  ALIBI_KERNEL void write_terms(int b, int h) {
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        block_.quad_sum(term_sums_[r][half]);
        block_.each_lane([&](int lane) {
          const int key = n_ * kKeyBlock + first_row(lane, r) + 8 * half;
          if (a_.key_term_gradient_BHS == nullptr || part_ != 0 || lane % 4 != 0 || key >= a_.keys)
            return;
          a_.key_term_gradient_BHS[(static_cast<std::int64_t>(b) * a_.heads + h) * a_.keys + key] =
              -term_sums_[r][half][lane];
        });
      }
    }
    clear_terms();
  }

  ALIBI_KERNEL void write(int b) {
    const float scale = a_.scale * kLn2;
    const int first = part_ * kColumns;
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
          const int key = n_ * kKeyBlock + first_row(lane, r) + 8 * half;
          if (key >= a_.keys) continue;
          store_row(block_, a_.k_gradient.at(b, g_, key), key_sums_[r], lane, half, first, a_.width,
                    scale);
          store_row(block_, a_.v_gradient.at(b, g_, key), value_sums_[r], lane, half, first,
                    a_.width, 1);
        }
      });
    }
  }

  const DeviceAttention& a_;
  Block& block_;
  int g_, n_, part_;
  int tiles_ = 0;  // of the current head
  Lanes<Floats4> scores_[kRowTiles * kTiles], products_[kRowTiles * kTiles];
  Lanes<Floats4> key_sums_[kRowTiles][kColumns / 8], value_sums_[kRowTiles][kColumns / 8];
  Lanes<float> term_sums_[kRowTiles][2];  // of kTerms: the scores' gradients of a lane's two keys
};

}  // namespace alibi
