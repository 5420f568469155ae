// Attention with online softmax, forward: one block of query rows, key blocks from its own position
// backwards (FlashAttention-2, Dao 2023, algorithm 1) until none before can matter
// (kernels/attention_skip.h; a row's reference is a lower bound of its sum).
#pragma once

#include <cmath>

#include "kernels/cuda/attention_bias.h"
#include "kernels/cuda/attention_work.h"

namespace alibi {

// kWarps warps with kTiles x 16 query rows each; kWidth >= W, a multiple of 32.
template <class Block, int kWidth, int kWarps, int kTiles, BiasKind kKind>
class AttentionForward {
 public:
  static constexpr int kRows = 16 * kTiles * kWarps;
  static_assert(kRows % kKeyBlock == 0 && kKeyBlock % (16 * kTiles) == 0,
                "a warp's rows lie in one tile of a pattern");
  static constexpr int kQueryBytes = kRows * kWidth * 2;
  static constexpr int kKeyBytes = kKeyBlock * kWidth * 2;
  static constexpr int kSharedBytes = kQueryBytes + 4 * kKeyBytes;

  ALIBI_KERNEL AttentionForward(const DeviceAttention& a, Block& block)
      : a_(a),
        block_(block),
        range_(query_range(a, block.z(), last_first(block.y(), a.heads),
                           last_first(block.x(), (a.queries + kRows - 1) / kRows), kRows)),
        bias_(a, range_.b, range_.h) {}

  ALIBI_KERNEL void run() {
    load_queries();
    load_keys(range_.last_block, 0);
    prepare_rows();
    int n = range_.last_block, turn = 0, shown = 0;
    while (true) {
      block_.wait();
      block_.sync();
      if (n == range_.last_block) measure_rows();
      if constexpr (kPatterned<kKind>) shown = shown_before(n);
      if (goes_on(n, shown)) load_keys(before(n, shown), turn + 1);
      add_block(n, turn);
      if (is_last(n, shown) || nothing_before(n)) break;
      n = before(n, shown);
      ++turn;
    }
    block_.wait();
    write(n);
  }

 private:
  template <class T>
  using Lanes = typename Block::template Lanes<T>;
  static constexpr int kChunks = kWidth / 8;
  static constexpr int kKeyPairs = kKeyBlock / 16;  // tiles of 16 keys
  static constexpr float kNothing = -INFINITY;

  ALIBI_KERNEL static constexpr SharedRows<kWidth> queries() { return {0}; }
  // Blocks take turns in two buffers; without a pattern their own numbers say whose it is.
  ALIBI_KERNEL static int buffer(int n, int turn) { return (kPatterned<kKind> ? turn : n) & 1; }
  ALIBI_KERNEL static SharedRows<kWidth> keys(int n, int turn) {
    return {static_cast<std::uint32_t>(kQueryBytes + buffer(n, turn) * 2 * kKeyBytes)};
  }
  ALIBI_KERNEL static SharedRows<kWidth> values(int n, int turn) {
    return {static_cast<std::uint32_t>(kQueryBytes + buffer(n, turn) * 2 * kKeyBytes + kKeyBytes)};
  }

  // Of a pattern: the last block before block n that some row is shown something of, or the one
  // before the first.
  ALIBI_KERNEL int shown_before(int n) const {
    int last = range_.first_block - 1;
    for (int m = range_.first / kKeyBlock; m * kKeyBlock < range_.first + range_.count; ++m) {
      const int until = a_.shown_until(range_.h, m, n - 1);
      last = until > last ? until : last;
    }
    return last;
  }

  // The block to visit after block n, and whether there is one. `shown`: of shown_before(n). If one
  // were written as the negation of the other, the compiler would split the loop in two.
  ALIBI_KERNEL static int before(int n, int shown) { return kPatterned<kKind> ? shown : n - 1; }
  ALIBI_KERNEL bool goes_on(int n, int shown) const {
    return kPatterned<kKind> ? shown >= range_.first_block : n > range_.first_block;
  }
  ALIBI_KERNEL bool is_last(int n, int shown) const {
    return kPatterned<kKind> ? shown == range_.first_block - 1 : n == range_.first_block;
  }

  ALIBI_KERNEL void load_queries() {
    load_rows<kWarps, kRows>(block_, queries(), a_.q, a_, range_.b, range_.h, range_.first,
                             a_.queries);
  }

  ALIBI_KERNEL void load_keys(int n, int turn) {
    load_key_block<kWarps>(block_, keys(n, turn), values(n, turn), a_, range_.b, range_.kv, n);
  }

  // Row of the block that element pair `half` of row tile r is of.
  ALIBI_KERNEL int row_of(int lane, int r, int half) const {
    return (block_.warp() * kTiles + r) * 16 + lane / 4 + 8 * half;
  }

  ALIBI_KERNEL void prepare_rows() {
    ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        block_.each_lane([&](int lane) {
          const int row = row_of(lane, r, half);
          const bool there = row < range_.count;
          Row& state = rows_[r][half][lane];
          state.reference = kNothing;
          state.sum = 0;
          state.norm = 0;
          state.position = a_.offset() + range_.first + row;
          state.term = there ? bias_.term(state.position) : TermPair();
          state.start = there ? a_.start(range_.b, range_.first + row) : a_.keys;  // sees nothing
        });
      }
      clear(block_, output_[r]);
    }
  }

  // |q| of each row in the units of scores: each of the four lanes that share a row sums a quarter.
  ALIBI_KERNEL void measure_rows() {
    if (a_.threshold < 0) return;
    ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        Lanes<float> squares;
        block_.each_lane([&](int lane) {
          float sum = 0;
          for (int chunk = lane % 4; chunk < kChunks; chunk += 4) {
            const Words4& words =
                block_.template at<Words4>(queries().chunk(row_of(lane, r, half), chunk));
            sum += chunk_product<Block>(words, words);
          }
          squares[lane] = sum;
        });
        block_.quad_sum(squares);
        block_.each_lane([&](int lane) {
          // Rounded up by more than the products' own rounding.
          rows_[r][half][lane].norm = Block::root(squares[lane]) * a_.scale * 1.001F;
        });
      }
    }
  }

  ALIBI_KERNEL void add_block(int n, int turn) {
    score(n, turn);
    add_bias(n);
    if (!range_.whole(n)) mask(n);
    if constexpr (kPatterned<kKind>) hide(n);
    ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) weigh(n, r, half);
    }
    add_values(n, turn);
  }

  ALIBI_KERNEL void score(int n, int turn) {
    ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) clear(block_, scores_[r]);
    ALIBI_UNROLL for (int w = 0; w < kWidth / 16; ++w) {
      Lanes<Words4> left[kTiles];
      ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) left[r] =
          left_of(block_, queries(), (block_.warp() * kTiles + r) * 16, w);
      ALIBI_UNROLL for (int j = 0; j < kKeyPairs; ++j) {
        const Lanes<Words4> right = right_rows(block_, keys(n, turn), 16 * j, w);
        ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
          block_.multiply(scores_[r][2 * j], left[r], right, 0);
          block_.multiply(scores_[r][2 * j + 1], left[r], right, 2);
        }
      }
    }
  }

  // Products to scores, but for what all of a lane's scores of a row have in common (row_bias).
  ALIBI_KERNEL void add_bias(int n) {
    ALIBI_UNROLL for (int j = 0; j < 2 * kKeyPairs; ++j) {
      ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
        block_.each_lane([&](int lane) {
          const auto bias = bias_.tile(rows_[0][0][lane].position, first_key(n, lane));
          ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
            float& x = scores_[r][j][lane].v[e];
            x = x * a_.scale + bias.part(16 * r + 8 * (e / 2), 8 * j + e % 2);
          }
        });
      }
    }
  }

  ALIBI_KERNEL void mask(int n) {
    ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
      ALIBI_UNROLL for (int j = 0; j < 2 * kKeyPairs; ++j) {
        block_.each_lane([&](int lane) {
          ALIBI_UNROLL for (int e = 0; e < 4; ++e) {
            const Row& row = rows_[r][e / 2][lane];
            const int key = first_key(n, lane) + 8 * j + e % 2;
            float& x = scores_[r][j][lane].v[e];
            x = key <= row.position && key >= row.start ? x : kNothing;
          }
        });
      }
    }
  }

  // What the head's rule hides of a tile of 64 queries, which holds all of a warp's.
  ALIBI_KERNEL void hide(int n) {
    const int query = range_.first + block_.warp() * kTiles * 16;
    const int shown = a_.shown(range_.h, query / kKeyBlock, n);
    if (shown == 0) return;
    ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        block_.each_lane([&](int lane) {
          const int row = (query + 16 * r + 8 * half + lane / 4) % kKeyBlock;
          const std::uint64_t bits = a_.shown_bits(shown, row) >> (2 * (lane % 4));
          keep_shown<2 * kKeyPairs>(scores_[r], lane, half, bits, kNothing);
        });
      }
    }
  }

  // Scores of two rows to weights relative to the rows' references, which may move.
  ALIBI_KERNEL void weigh(int n, int r, int half) {
    Lanes<float> row_bias, highest, factor;
    block_.each_lane([&](int lane) {
      const Row& row = rows_[r][half][lane];
      float most = kNothing;
      ALIBI_UNROLL for (int j = 0; j < 2 * kKeyPairs; ++j) {
        ALIBI_UNROLL for (int e = 0; e < 2; ++e) most =
            Block::larger(most, scores_[r][j][lane].v[2 * half + e]);
      }
      row_bias[lane] = bias_.of_row(row.position, row.term, n, first_key(n, lane));
      highest[lane] = Block::larger(row.reference, most + row_bias[lane]);
    });
    block_.quad_max(highest);
    block_.each_lane([&](int lane) {
      Row& row = rows_[r][half][lane];
      const float base = highest[lane] == kNothing ? 0.0F : highest[lane];
      factor[lane] = Block::exp2(row.reference - base);
      row.reference = highest[lane];
      float sum = row.sum * factor[lane];
      const float less = base - row_bias[lane];
      ALIBI_UNROLL for (int j = 0; j < 2 * kKeyPairs; ++j) {
        ALIBI_UNROLL for (int e = 0; e < 2; ++e) {
          float& x = scores_[r][j][lane].v[2 * half + e];
          x = Block::exp2(x - less);
          sum += x;
        }
      }
      row.sum = sum;
    });
    ALIBI_UNROLL for (int w = 0; w < kChunks; ++w) {
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int e = 0; e < 2; ++e) output_[r][w][lane].v[2 * half + e] *=
            factor[lane];
      });
    }
  }

  ALIBI_KERNEL void add_values(int n, int turn) {
    ALIBI_UNROLL for (int j = 0; j < kKeyPairs; ++j) {
      Lanes<Words4> left[kTiles];
      ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) left[r] =
          left_of_sums(block_, scores_[r][2 * j], scores_[r][2 * j + 1]);
      ALIBI_UNROLL for (int w = 0; w < kWidth / 16; ++w) {
        const Lanes<Words4> right = right_columns(block_, values(n, turn), 16 * j, w);
        ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
          block_.multiply(output_[r][2 * w], left[r], right, 0);
          block_.multiply(output_[r][2 * w + 1], left[r], right, 2);
        }
      }
    }
  }

  // Whether no row can gain from the blocks before n. A barrier.
  ALIBI_KERNEL bool nothing_before(int n) {
    Lanes<int> none;
    if (a_.threshold < 0 || !bias_.falls()) {
      block_.each_lane([&](int lane) { none[lane] = 0; });
      return block_.all(none);
    }
    const float reach =
        a_.reach_BGN[(static_cast<std::int64_t>(range_.b) * a_.key_value_heads + range_.kv) *
                         a_.key_blocks() +
                     n - 1];
    const int last = n * kKeyBlock - 1;
    block_.each_lane([&](int lane) {
      int gains = 0;
      ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
        ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
          const Row& row = rows_[r][half][lane];
          const float bound = row.norm * reach + bias_.most_before(row.position, row.term, n);
          const bool gained = row.start <= last && !(bound + a_.threshold < row.reference);
          gains += gained ? 1 : 0;  // NaN gains
        }
      }
      none[lane] = gains == 0 ? 1 : 0;
    });
    return block_.all(none);
  }

  ALIBI_KERNEL void write(int lowest) {
    ALIBI_UNROLL for (int r = 0; r < kTiles; ++r) {
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        Lanes<float> sums;
        block_.each_lane([&](int lane) { sums[lane] = rows_[r][half][lane].sum; });
        block_.quad_sum(sums);
        block_.each_lane([&](int lane) {
          const int row = row_of(lane, r, half);
          if (row < range_.count) write_row(lane, r, half, range_.first + row, sums[lane]);
        });
      }
    }
    if (a_.first_BHM == nullptr || block_.warp() != 0) return;
    block_.each_lane([&](int lane) {
      if (lane == 0) a_.first_block(range_.b, range_.h, range_.first) = lowest;
    });
  }

  // The four lanes of a row write its pairs of columns by turns.
  ALIBI_KERNEL void write_row(int lane, int r, int half, int query, float sum) {
    std::uint16_t* out = a_.output.at(range_.b, range_.h, query);
    ALIBI_UNROLL for (int w = 0; w < kChunks; ++w) {
      const int column = 8 * w + 2 * (lane % 4);
      if (column >= a_.width) continue;
      const Floats4 x = output_[r][w][lane];
      Block::store(out + column, Block::pair(x.v[2 * half] / sum, x.v[2 * half + 1] / sum));
    }
    if (a_.lse_BHT == nullptr || lane % 4 != 0) return;
    a_.lse_BHT[a_.row(range_.b, range_.h, query)] =
        (rows_[r][half][lane].reference + Block::log2(sum)) * kLn2;
  }

  struct Row {
    float reference;  // its highest score so far
    float sum;        // of this lane's weights relative to it
    float norm;
    int position, start;  // of the keys it sees: the last one and the first
    TermPair term;
  };

  const DeviceAttention& a_;
  Block& block_;
  QueryRange range_;
  HeadBias<kKind> bias_;
  Lanes<Row> rows_[kTiles][2];
  Lanes<Floats4> scores_[kTiles][2 * kKeyPairs];
  Lanes<Floats4> output_[kTiles][kChunks];
};

}  // namespace alibi
