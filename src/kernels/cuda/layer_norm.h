// Layer norm (Ba, Kiros and Hinton 2016) of rows of bf16 numbers, forward and backward:
//
//   y  = n weight + bias                          n = (x - mean) / sqrt(variance + epsilon)
//   dx = (g - mean(g) - n mean(g n)) / sqrt(variance + epsilon) + added         g = dy weight
//   dweight = sum(dy n), dbias = sum(dy)                                        over all rows
//
// A row is read once and kept in registers, as the 16 bytes that came; mean and variance are two
// passes over those. It belongs to kRowWarps warps: one, or all eight of a block, each lane having
// up to kChunks chunks of eight neighbouring numbers. The gradient's blocks walk many rows, and a
// lane, whose columns stay the same, keeps their sums in registers; warps that walked rows of their
// own add up in their order at the end. Nothing depends on which warp is first.
#pragma once

#include "kernels/cuda/kernel_block.h"
#include "kernels/device_row_ops.h"

namespace alibi {

template <class Block, int kRowWarps, int kChunks>
class NormLanes {
 public:
  static constexpr int kWarps = kDeviceNormWarps;
  static constexpr int kRows = kWarps / kRowWarps;  // of a block at once
  static_assert(kRowWarps == 1 || kRowWarps == kWarps, "a row is a warp's or a block's");
  static constexpr int kMostWidth = 256 * kRowWarps * kChunks;

  using Floats = typename Block::template Lanes<float>;
  struct Row {
    Words4 chunks[kChunks];  // zeros behind the row's end
  };

  ALIBI_KERNEL NormLanes(int width, Block& block)
      : width_(width), share_(1.0F / static_cast<float>(width)), block_(block) {}

  ALIBI_KERNEL int first_row() const {
    return block_.x() * kRows + (kRowWarps == 1 ? block_.warp() : 0);
  }
  ALIBI_KERNEL std::int64_t at(int row) const { return static_cast<std::int64_t>(row) * width_; }
  ALIBI_KERNEL bool is_first(int lane) const {
    return lane == 0 && (kRowWarps == 1 || block_.warp() == 0);
  }
  ALIBI_KERNEL int column(int lane, int chunk) const {
    const int warp = kRowWarps == 1 ? 0 : block_.warp();
    return 8 * (32 * (kRowWarps * chunk + warp) + lane);
  }
  ALIBI_KERNEL bool has(int lane, int chunk) const { return column(lane, chunk) < width_; }
  ALIBI_KERNEL float share() const { return share_; }  // of one number in a row's mean

  ALIBI_KERNEL void load(const std::uint16_t* row, int lane, Row& to) const {
    ALIBI_UNROLL for (int k = 0; k < kChunks; ++k) to.chunks[k] =
        has(lane, k) ? Block::chunk(row + column(lane, k)) : Words4{{0, 0, 0, 0}};
  }
  ALIBI_KERNEL static float number(const Words4& words, int i) {
    return i % 2 == 0 ? Block::widened(static_cast<std::uint16_t>(words.v[i / 2]))
                      : Block::widened_high(words.v[i / 2]);
  }

  // Four gains or biases of a chunk. Not behind a branch, so that those of all chunks are on their
  // way at once.
  ALIBI_KERNEL FloatChunk gains(const float* all_C, int lane, int chunk, int half) const {
    return has(lane, chunk) ? Block::constant(all_C + column(lane, chunk) + 4 * half)
                            : FloatChunk{{0, 0, 0, 0}};
  }

  // Each lane's numbers over the whole row, in every lane. A block's rows take turns between two
  // places in shared memory, so that one barrier is enough.
  template <int kCount>
  ALIBI_KERNEL void sum(Floats (&x)[kCount], int turn) {
    ALIBI_UNROLL for (int i = 0; i < kCount; ++i) block_.warp_sum(x[i]);
    if constexpr (kRowWarps > 1) {
      block_.each_lane([&](int lane) {
        if (lane != 0) return;
        ALIBI_UNROLL for (int i = 0; i < kCount; ++i) shared(turn, i, block_.warp()) = x[i][lane];
      });
      block_.sync();
      block_.each_lane([&](int lane) {
        ALIBI_UNROLL for (int i = 0; i < kCount; ++i) {
          x[i][lane] = shared(turn, i, 0);
          ALIBI_UNROLL for (int w = 1; w < kWarps; ++w) x[i][lane] += shared(turn, i, w);
        }
      });
    }
  }

  static constexpr int kSumBytes = kRowWarps == 1 ? 0 : 2 * 2 * kWarps * 4;

 private:
  ALIBI_KERNEL float& shared(int turn, int i, int warp) {
    return block_.template at<float>(
        static_cast<std::uint32_t>(4 * ((2 * turn + i) * kWarps + warp)));
  }

  int width_;
  float share_;
  Block& block_;
};

// Once for kRows rows.
template <class Block, int kRowWarps, int kChunks>
class NormForward {
 public:
  using Lanes = NormLanes<Block, kRowWarps, kChunks>;
  static constexpr int kSharedBytes = Lanes::kSumBytes;

  ALIBI_KERNEL NormForward(const DeviceNorm& a, Block& block)
      : a_(a), block_(block), lanes_(a.width, block) {}

  ALIBI_KERNEL void run() {
    const int row = lanes_.first_row();
    if (row >= a_.rows) return;  // of a row that is a block's, all warps
    typename Block::template Lanes<typename Lanes::Row> x;
    typename Lanes::Floats sum[1], mean;
    block_.each_lane([&](int lane) {
      lanes_.load(a_.x_NC + lanes_.at(row), lane, x[lane]);
      sum[0][lane] = plain_sum(x[lane]);
    });
    lanes_.sum(sum, 0);
    block_.each_lane([&](int lane) {
      mean[lane] = sum[0][lane] * lanes_.share();
      sum[0][lane] = square_sum(x[lane], lane, mean[lane]);
    });
    lanes_.sum(sum, 1);
    block_.each_lane([&](int lane) {
      const float variance = sum[0][lane] * lanes_.share();
      const float reciprocal = 1.0F / Block::root(variance + a_.epsilon);
      if (a_.mean_N != nullptr && lanes_.is_first(lane)) {
        a_.mean_N[row] = mean[lane];
        a_.reciprocal_N[row] = reciprocal;
      }
      ALIBI_UNROLL for (int k = 0; k < kChunks; ++k)
          write(row, lane, k, x[lane].chunks[k], mean[lane], reciprocal);
    });
  }

 private:
  using Row = typename Lanes::Row;

  ALIBI_KERNEL static float plain_sum(const Row& x) {
    float sum = 0;
    ALIBI_UNROLL for (int k = 0; k < kChunks; ++k) {
      float of_chunk = 0;
      ALIBI_UNROLL for (int i = 0; i < 8; ++i) of_chunk += Lanes::number(x.chunks[k], i);
      sum += of_chunk;
    }
    return sum;
  }

  ALIBI_KERNEL float square_sum(const Row& x, int lane, float mean) const {
    float sum = 0;
    ALIBI_UNROLL for (int k = 0; k < kChunks; ++k) {
      float of_chunk = 0;
      ALIBI_UNROLL for (int i = 0; i < 8; ++i) {
        const float off = Lanes::number(x.chunks[k], i) - mean;
        of_chunk = Block::fused(off, off, of_chunk);
      }
      if (lanes_.has(lane, k)) sum += of_chunk;
    }
    return sum;
  }

  ALIBI_KERNEL void write(int row, int lane, int k, const Words4& x, float mean, float reciprocal) {
    float y[8];
    ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
      const FloatChunk weight = lanes_.gains(a_.weight_C, lane, k, half);
      const FloatChunk bias =
          a_.bias_C != nullptr ? lanes_.gains(a_.bias_C, lane, k, half) : FloatChunk{{0, 0, 0, 0}};
      ALIBI_UNROLL for (int i = 0; i < 4; ++i) {
        const float normed = (Lanes::number(x, 4 * half + i) - mean) * reciprocal;
        y[4 * half + i] = Block::fused(normed, weight.v[i], bias.v[i]);
      }
    }
    Words4 words;
    ALIBI_UNROLL for (int i = 0; i < 4; ++i) words.v[i] = Block::pair(y[2 * i], y[2 * i + 1]);
    if (lanes_.has(lane, k))
      Block::store_chunk(a_.y_NC + lanes_.at(row) + lanes_.column(lane, k), words);
  }

  const DeviceNorm& a_;
  Block& block_;
  Lanes lanes_;
};

template <class Block, int kRowWarps, int kChunks>
class NormBackward {
 public:
  using Lanes = NormLanes<Block, kRowWarps, kChunks>;
  static constexpr int kJoinBytes = kRowWarps == 1 ? 2 * kChunks * 256 * 4 : 0;
  static constexpr int kSharedBytes = kRowWarps == 1 ? kJoinBytes : Lanes::kSumBytes;

  ALIBI_KERNEL NormBackward(const DeviceNormGradient& a, Block& block)
      : a_(a), block_(block), lanes_(a.width, block) {}

  ALIBI_KERNEL void run() {
    LaneSums sums;
    block_.each_lane([&](int lane) {
      ALIBI_UNROLL for (int i = 0; i < 8 * kChunks; ++i) sums[lane].weight[i] = sums[lane].bias[i] =
          0;
    });
    int turn = 0;
    for (int row = lanes_.first_row(); row < a_.rows; row += a_.parts * Lanes::kRows, turn ^= 1)
      walk(row, turn, sums);
    if constexpr (kRowWarps == 1) join(sums);
    if (kRowWarps > 1 || block_.warp() == Lanes::kWarps - 1) write(sums);
  }

 private:
  using Row = typename Lanes::Row;
  struct Rows {
    Row x, dy, added;
    float mean, reciprocal;
  };
  struct Sums {
    float weight[8 * kChunks], bias[8 * kChunks];
  };
  using LaneSums = typename Block::template Lanes<Sums>;

  ALIBI_KERNEL void walk(int row, int turn, LaneSums& sums) {
    typename Block::template Lanes<Rows> rows;
    typename Lanes::Floats means[2];  // of g, of g n
    block_.each_lane([&](int lane) {
      Rows& own = rows[lane];
      lanes_.load(a_.x_NC + lanes_.at(row), lane, own.x);
      lanes_.load(a_.dy_NC + lanes_.at(row), lane, own.dy);
      own.added = Row();
      if (a_.added_NC != nullptr) lanes_.load(a_.added_NC + lanes_.at(row), lane, own.added);
      own.mean = a_.mean_N[row];
      own.reciprocal = a_.reciprocal_N[row];
      add(own, lane, sums[lane], means[0][lane], means[1][lane]);
    });
    lanes_.sum(means, turn);
    block_.each_lane([&](int lane) {
      const float plain = means[0][lane] * lanes_.share(), along = means[1][lane] * lanes_.share();
      ALIBI_UNROLL for (int k = 0; k < kChunks; ++k)
          write_dx(row, lane, k, rows[lane], plain, along);
    });
  }

  ALIBI_KERNEL static float normed(const Rows& rows, int k, int i) {
    return (Lanes::number(rows.x.chunks[k], i) - rows.mean) * rows.reciprocal;
  }

  // Behind a row's end dy is zero, and so is all that is summed.
  ALIBI_KERNEL void add(const Rows& rows, int lane, Sums& sums, float& plain, float& along) const {
    plain = along = 0;
    ALIBI_UNROLL for (int k = 0; k < kChunks; ++k) if (lanes_.has(lane, k)) {
      float of_chunk = 0, along_chunk = 0;
      ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
        const FloatChunk weight = lanes_.gains(a_.weight_C, lane, k, half);
        ALIBI_UNROLL for (int j = 0; j < 4; ++j) {
          const int i = 4 * half + j;
          const float dy = Lanes::number(rows.dy.chunks[k], i), n = normed(rows, k, i);
          sums.weight[8 * k + i] = Block::fused(dy, n, sums.weight[8 * k + i]);
          sums.bias[8 * k + i] += dy;
          const float g = dy * weight.v[j];
          of_chunk += g;
          along_chunk = Block::fused(g, n, along_chunk);
        }
      }
      plain += of_chunk;
      along += along_chunk;
    }
  }

  ALIBI_KERNEL void write_dx(int row, int lane, int k, const Rows& rows, float plain,
                             float along) const {
    float dx[8];
    ALIBI_UNROLL for (int half = 0; half < 2; ++half) {
      const FloatChunk weight = lanes_.gains(a_.weight_C, lane, k, half);
      ALIBI_UNROLL for (int j = 0; j < 4; ++j) {
        const int i = 4 * half + j;
        const float share = Block::fused(Lanes::number(rows.dy.chunks[k], i), weight.v[j], -plain);
        const float rest = Block::fused(-normed(rows, k, i), along, share);
        dx[i] = Block::fused(rest, rows.reciprocal, Lanes::number(rows.added.chunks[k], i));
      }
    }
    Words4 words;
    ALIBI_UNROLL for (int i = 0; i < 4; ++i) words.v[i] = Block::pair(dx[2 * i], dx[2 * i + 1]);
    if (lanes_.has(lane, k))
      Block::store_chunk(a_.dx_NC + lanes_.at(row) + lanes_.column(lane, k), words);
  }

  ALIBI_KERNEL static float& sum_of(Sums& sums, int i) {
    return i < 8 * kChunks ? sums.weight[i] : sums.bias[i - 8 * kChunks];
  }
  ALIBI_KERNEL FloatChunk& shared(int quad, int lane) {
    return block_.template at<FloatChunk>(static_cast<std::uint32_t>(16 * (32 * quad + lane)));
  }

  // Of all warps in the last one: each adds its own to those of the warps before it.
  ALIBI_KERNEL void join(LaneSums& sums) {
    for (int turn = 0; turn < Lanes::kWarps; ++turn) {
      if (block_.warp() == turn)
        block_.each_lane([&](int lane) {
          ALIBI_UNROLL for (int quad = 0; quad < 4 * kChunks; ++quad) {
            FloatChunk all = turn == 0 ? FloatChunk{{0, 0, 0, 0}} : shared(quad, lane);
            ALIBI_UNROLL for (int i = 0; i < 4; ++i) {
              sum_of(sums[lane], 4 * quad + i) += all.v[i];
              all.v[i] = sum_of(sums[lane], 4 * quad + i);
            }
            shared(quad, lane) = all;
          }
        });
      block_.sync();
    }
  }

  ALIBI_KERNEL void write(LaneSums& sums) {
    float* to = a_.sums_P2C + static_cast<std::int64_t>(block_.x()) * 2 * a_.width;
    block_.each_lane([&](int lane) {
      ALIBI_UNROLL for (int i = 0; i < 16 * kChunks; i += 4) {
        const int k = i / 8 % kChunks;
        if (!lanes_.has(lane, k)) continue;
        FloatChunk four;
        ALIBI_UNROLL for (int j = 0; j < 4; ++j) four.v[j] = sum_of(sums[lane], i + j);
        Block::store_chunk(to + (i < 8 * kChunks ? 0 : a_.width) + lanes_.column(lane, k) + i % 8,
                           four);
      }
    });
  }

  const DeviceNormGradient& a_;
  Block& block_;
  Lanes lanes_;
};

// Calls f.template operator()<kRowWarps, kChunks>() with the fewest chunks that hold the width.
template <class F>
auto with_norm_shape(int width, const F& f) {
  if (width <= 512) return f.template operator()<1, 2>();
  if (width <= 768) return f.template operator()<1, 3>();
  if (width <= kDeviceNormWarpWidth) return f.template operator()<1, 4>();
  if (width <= 2048) return f.template operator()<kDeviceNormWarps, 1>();
  if (width <= 4096) return f.template operator()<kDeviceNormWarps, 2>();
  return f.template operator()<kDeviceNormWarps, 4>();
}

}  // namespace alibi
