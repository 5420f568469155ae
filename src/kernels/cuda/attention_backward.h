// Attention's gradients in three kernels (FlashAttention-2, Dao 2023, algorithm 2, its loops
// apart): each row's output times its gradient; the queries' gradient by blocks of queries; the
// keys' and values' gradient by blocks of keys. Each sum has one owner and one order: no atomics,
// the same bits every time, for seven products a tile instead of five.
//
//   P = 2^(scale q.k + bias - lse),  dV = P^T dO,  dS = P (dO V^T - delta),
//   dQ = scale dS K,  dK = scale dS^T Q
#pragma once

#include "kernels/cuda/attention_bias.h"
#include "kernels/cuda/attention_work.h"

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
    return quarter_product<Block>(output, gradient, a.width, part);
  }
};

// What the gradients need of a query.
struct GradientRow {
  int position, start;  // start beyond every key: the row is not there
  float lse, delta;     // lse in base 2
  TermPair term;
};

template <BiasKind kKind>
ALIBI_KERNEL GradientRow gradient_row(const DeviceAttention& a, const HeadBias<kKind>& bias, int b,
                                      int h, int query) {
  constexpr int kBeyondAll = 1 << 30;
  const int position = a.offset() + query;
  // 2^(score - lse) of a row that is not there is 0, however high its bias.
  constexpr float kNoWeight = 1e30F;
  if (query >= a.queries) return {position, kBeyondAll, kNoWeight, 0, {}};
  const std::int64_t row = a.row(b, h, query);
  return {position, a.start(b, query), a.lse_BHT[row] * kLog2OfE, a.delta_BHT[row],
          bias.term(position)};
}

// first = left_1 right_1^T and second = left_2 right_2^T, for this warp's kRowTiles x 16 rows of
// the left ones: tiles row by row. What a warp loads of the right ones serves all of its rows.
template <int kRowTiles, int kCount, int kWidth, class Block>
ALIBI_KERNEL void two_products(Block& block,
                               typename Block::template Lanes<Floats4> (&first)[kCount],
                               const SharedRows<kWidth>& left_1, const SharedRows<kWidth>& right_1,
                               typename Block::template Lanes<Floats4> (&second)[kCount],
                               const SharedRows<kWidth>& left_2,
                               const SharedRows<kWidth>& right_2) {
  constexpr int kTiles = kCount / kRowTiles;
  clear(block, first);
  clear(block, second);
  ALIBI_UNROLL for (int w = 0; w < kWidth / 16; ++w) {
    typename Block::template Lanes<Words4> l1[kRowTiles], l2[kRowTiles];
    ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
      const int row = (block.warp() * kRowTiles + r) * 16;
      l1[r] = left_of(block, left_1, row, w);
      l2[r] = left_of(block, left_2, row, w);
    }
    ALIBI_UNROLL for (int j = 0; j < kTiles; j += 2) {
      const auto r1 = right_rows(block, right_1, 8 * j, w);
      const auto r2 = right_rows(block, right_2, 8 * j, w);
      ALIBI_UNROLL for (int r = 0; r < kRowTiles; ++r) {
        const int at = r * kTiles + j;
        block.multiply(first[at], l1[r], r1, 0);
        block.multiply(first[at + 1], l1[r], r1, 2);
        block.multiply(second[at], l2[r], r2, 0);
        block.multiply(second[at + 1], l2[r], r2, 2);
      }
    }
  }
}

// A tile of 16 query rows a warp by 64 keys: the scores' gradients, in natural units.
template <class Block, int kWidth, BiasKind kKind>
class QueryKeyTile {
 public:
  static constexpr int kTiles = kKeyBlock / 8;

  ALIBI_KERNEL QueryKeyTile(const DeviceAttention& a, Block& block, int b, int h)
      : a_(a), block_(block), bias_(a, b, h) {}

  // Of the block's query rows from `first` on.
  ALIBI_KERNEL void prepare_rows(int b, int h, int first) {
    ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
      block_.each_lane([&](int lane) {
        rows_[half][lane] =
            gradient_row(a_, bias_, b, h, first + block_.warp() * 16 + lane / 4 + 8 * half);
      });
    }
  }

  // Of key block n; `range`: the block's rows.
  ALIBI_KERNEL void compute(const QueryRange& range, const SharedRows<kWidth>& queries,
                            const SharedRows<kWidth>& gradients, const SharedRows<kWidth>& keys,
                            const SharedRows<kWidth>& values, int n) {
    two_products<1>(block_, changes, queries, keys, products_, gradients, values);
    weigh(n);
    if (!range.whole(n)) mask(n);
    if constexpr (kPatterned<kKind>) hide(range, n);
    ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int e = 0; e < 4; ++e) changes[j][lane].v[e] *=
            products_[j][lane].v[e] - rows_[e / 2][lane].delta;
      });
    }
  }

  template <class T>
  using Lanes = typename Block::template Lanes<T>;
  Lanes<Floats4> changes[kTiles];

 private:
  // Products to weights.
  ALIBI_KERNEL void weigh(int n) {
    block_.each_lane([&](int lane) {
      const auto bias = bias_.tile(rows_[0][lane].position, first_key(n, lane));
      float row_bias[2];
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        const GradientRow& row = rows_[half][lane];
        row_bias[half] = bias_.of_row(row.position, row.term, n, first_key(n, lane)) - row.lse;
      }
      ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
        ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
          float& x = changes[j][lane].v[e];
          x = Block::exp2(x * a_.scale + (row_bias[e / 2] + bias.part(8 * (e / 2), 8 * j + e % 2)));
        }
      }
    });
  }

  ALIBI_KERNEL void mask(int n) {
    ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
          const GradientRow& row = rows_[e / 2][lane];
          const int key = first_key(n, lane) + 8 * j + e % 2;
          float& x = changes[j][lane].v[e];
          x = key <= row.position && key >= row.start ? x : 0;
        }
      });
    }
  }

  // What the head's rule hides.
  ALIBI_KERNEL void hide(const QueryRange& range, int n) {
    const int query = range.first + block_.warp() * 16;
    const int shown = a_.shown(range.h, query / kKeyBlock, n);
    if (shown == 0) return;
    ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
      block_.each_lane([&](int lane) {
        const int row = (query + 8 * half + lane / 4) % kKeyBlock;
        const std::uint64_t bits = a_.shown_bits(shown, row) >> (2 * (lane % 4));
        keep_shown<kTiles>(changes, lane, half, bits, 0);
      });
    }
  }

  const DeviceAttention& a_;
  Block& block_;
  HeadBias<kKind> bias_;
  Lanes<GradientRow> rows_[2];
  Lanes<Floats4> products_[kTiles];
};

// dQ: kWarps warps with 16 query rows each, over (query blocks, H, B). Rows are not turned round:
// it costs the registers of a third block on a multiprocessor.
template <class Block, int kWidth, int kWarps, BiasKind kKind>
class AttentionQueryGradient {
 public:
  static constexpr int kRows = 16 * kWarps;
  static_assert(kRows == kKeyBlock, "a pattern's tile has a block's queries");
  static constexpr int kQueryBytes = kRows * kWidth * 2;
  static constexpr int kKeyBytes = kKeyBlock * kWidth * 2;
  static constexpr int kBuffers = kWidth > 128 ? 1 : 2;  // of keys and values
  static constexpr int kSharedBytes = 2 * kQueryBytes + 2 * kBuffers * kKeyBytes;

  ALIBI_KERNEL AttentionQueryGradient(const DeviceAttention& a, Block& block)
      : a_(a),
        block_(block),
        range_(query_range(a, block.z(), last_first(block.y(), a.heads), block.x(), kRows)),
        tile_(a, block, range_.b, range_.h) {}

  ALIBI_KERNEL void run() {
    if (a_.first_BHM != nullptr) {
      const int first = a_.first_block(range_.b, range_.h, range_.first);
      range_.first_block = first > range_.first_block ? first : range_.first_block;
    }
    load_rows<kWarps, kRows>(block_, queries(), a_.q, a_, range_.b, range_.h, range_.first,
                             a_.queries);
    load_rows<kWarps, kRows>(block_, gradients(), a_.output_gradient, a_, range_.b, range_.h,
                             range_.first, a_.queries);
    load_keys(range_.last_block, 0);
    tile_.prepare_rows(range_.b, range_.h, range_.first);
    clear(block_, sums_);
    clear_terms();
    for (int n = range_.last_block, turn = 0, after = n; n >= range_.first_block;
         n = after, ++turn) {
      after = before(n);
      block_.wait();
      block_.sync();
      // Two buffers: the one to fill was read before the barrier above.
      if (kBuffers == 2 && !is_last(n, after)) load_keys(after, turn + 1);
      add_block(n, turn);
      if constexpr (kBuffers == 1) {
        block_.sync();
        if (!is_last(n, after)) load_keys(after, turn + 1);
      }
    }
    write();
  }

 private:
  template <class T>
  using Lanes = typename Block::template Lanes<T>;
  static constexpr int kTiles = kKeyBlock / 8;

  ALIBI_KERNEL static SharedRows<kWidth> queries() { return {0}; }
  ALIBI_KERNEL static SharedRows<kWidth> gradients() { return {kQueryBytes}; }
  ALIBI_KERNEL static SharedRows<kWidth> keys(int n, int turn) {
    const int buffer = (kPatterned<kKind> ? turn : n) % kBuffers;
    return {static_cast<std::uint32_t>(2 * kQueryBytes + buffer * 2 * kKeyBytes)};
  }
  ALIBI_KERNEL static SharedRows<kWidth> values(int n, int turn) {
    return {keys(n, turn).start + static_cast<std::uint32_t>(kKeyBytes)};
  }

  ALIBI_KERNEL int before(int n) const {
    if constexpr (!kPatterned<kKind>) return n - 1;
    return a_.shown_until(range_.h, range_.first / kKeyBlock, n - 1);
  }

  // Whether no block comes after block n.
  ALIBI_KERNEL bool is_last(int n, int after) const {
    return kPatterned<kKind> ? after < range_.first_block : n == range_.first_block;
  }

  ALIBI_KERNEL void load_keys(int n, int turn) {
    load_key_block<kWarps>(block_, keys(n, turn), values(n, turn), a_, range_.b, range_.kv, n);
  }

  ALIBI_KERNEL void add_block(int n, int turn) {
    tile_.compute(range_, queries(), gradients(), keys(n, turn), values(n, turn), n);
    if constexpr (kKind == BiasKind::kTerms) add_terms();
    ALIBI_UNROLL for (int j = 0; j < kTiles; j += 2) {
      const Lanes<Words4> left = left_of_sums(block_, tile_.changes[j], tile_.changes[j + 1]);
      ALIBI_UNROLL for (int w = 0; w < kWidth / 16; ++w) {
        const Lanes<Words4> k = right_columns(block_, keys(n, turn), 8 * j, w);
        block_.multiply(sums_[2 * w], left, k, 0);
        block_.multiply(sums_[2 * w + 1], left, k, 2);
      }
    }
  }

  ALIBI_KERNEL void clear_terms() {
    ALIBI_UNROLL for (int half = 0; half < 2; ++half)
        block_.each_lane([&](int lane) { term_sums_[half][lane] = 0; });
  }

  ALIBI_KERNEL void add_terms() {
    ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int e = 0; e < 4; ++e) term_sums_[e / 2][lane] +=
            tile_.changes[j][lane].v[e];
      });
    }
  }

  ALIBI_KERNEL void write_terms() {
    ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
      block_.quad_sum(term_sums_[half]);
      block_.each_lane([&](int lane) {
        const int row = block_.warp() * 16 + lane / 4 + 8 * half;
        if (a_.query_term_gradient_BHT == nullptr || lane % 4 != 0 || row >= range_.count) return;
        a_.query_term_gradient_BHT[a_.row(range_.b, range_.h, range_.first + row)] =
            term_sums_[half][lane];
      });
    }
  }

  ALIBI_KERNEL void write() {
    if constexpr (kKind == BiasKind::kTerms) write_terms();
    const float scale = a_.scale * kLn2;
    block_.each_lane([&](int lane) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        const int row = block_.warp() * 16 + lane / 4 + 8 * half;
        if (row >= range_.count) continue;
        store_row(block_, a_.q_gradient.at(range_.b, range_.h, range_.first + row), sums_, lane,
                  half, 0, a_.width, scale);
      }
    });
  }

  const DeviceAttention& a_;
  Block& block_;
  QueryRange range_;
  QueryKeyTile<Block, kWidth, kKind> tile_;
  Lanes<Floats4> sums_[kWidth / 8];
  Lanes<float> term_sums_[2];  // of kTerms: the scores' gradients of a lane's two queries
};

}  // namespace alibi
