// What of an attention problem a block of threads works on, and how its rows reach shared memory
// and fragments.
#pragma once

#include <cstdint>

#include "kernels/cuda/kernel_block.h"
#include "kernels/device_attention.h"

namespace alibi {

inline constexpr float kLn2 = 0.6931471805599453F;
inline constexpr float kLog2OfE = 1.4426950408889634F;

// Query rows first to first + count - 1 of one head.
struct QueryRange {
  int b, h, kv, first, count;
  int first_block, last_block;  // key blocks that one of them can see
  int first_whole, last_whole;  // of these, those of which each of them sees every key

  ALIBI_KERNEL bool whole(int n) const { return n >= first_whole && n <= last_whole; }
};

// Blocks start in the grid's order, first along x, then y, and those with most to do had better not
// be left to the end: the last heads, whose slopes are the shallowest, come first, and where
// registers allow the last rows of a head.
ALIBI_KERNEL int last_first(int at, int count) { return count - 1 - at; }

ALIBI_KERNEL QueryRange query_range(const DeviceAttention& a, int b, int h, int block, int rows) {
  QueryRange range{b, h, h / a.group(), block * rows, rows, 0, 0, 0, 0};
  if (range.first + range.count > a.queries) range.count = a.queries - range.first;
  const int last = range.first + range.count - 1;
  range.last_block = (a.offset() + last) / kKeyBlock;
  range.last_whole = (a.offset() + range.first + 1) / kKeyBlock - 1;
  // Documents follow one another: the first row sees farthest back.
  range.first_block = a.start(b, range.first) / kKeyBlock;
  range.first_whole = (a.start(b, last) + kKeyBlock - 1) / kKeyBlock;
  return range;
}

// The first of the keys of block n that a lane has in a row of sums: columns 8 j + {0, 1} from
// there.
ALIBI_KERNEL int first_key(int n, int lane) { return n * kKeyBlock + 2 * (lane % 4); }

// Rows first to first + kRows - 1 of one head into shared memory; zeros for rows from `end` on and
// for columns beyond W. By all of a block's warps, asynchronously.
//
// A lane keeps its chunk of each group of chunks and steps by whole turns of the rows: both of its
// addresses move by what is the same for all lanes. Where nothing is to be read the source may lie
// outside.
template <int kWarps, int kRows, int kWidth, class Block>
ALIBI_KERNEL void load_rows(Block& block, const SharedRows<kWidth>& to, const DeviceRows& from,
                            const DeviceAttention& a, int b, int head, int first, int end) {
  using Rows = SharedRows<kWidth>;
  constexpr int kStep = kWarps * 32 / Rows::kGroup;
  static_assert(kStep % 8 == 0 && kRows % kStep == 0, "all lanes have the same number of rows");
  block.each_lane([&](int lane) {
    const int chunk = lane % Rows::kGroup;
    const int row = block.warp() * (32 / Rows::kGroup) + lane / Rows::kGroup;
    const std::uint32_t target = to.chunk(row, chunk);
    const std::uint16_t* source = from.at(b, head, first + row) + 8 * chunk;
    ALIBI_UNROLL for (int i = 0; i < kRows; i += kStep) {
      ALIBI_UNROLL for (int c = 0; c < Rows::kChunks; c += Rows::kGroup) {
        block.copy16(target + static_cast<std::uint32_t>(i * Rows::kRowBytes + c * 16),
                     source + 8 * c, first + row + i < end && 8 * (chunk + c) < a.width);
      }
      source += kStep * from.row;
    }
  });
}

// Block n of one head's keys and values.
template <int kWarps, int kWidth, class Block>
ALIBI_KERNEL void load_key_block(Block& block, const SharedRows<kWidth>& keys,
                                 const SharedRows<kWidth>& values, const DeviceAttention& a, int b,
                                 int head, int n) {
  load_rows<kWarps, kKeyBlock>(block, keys, a.k, a, b, head, n * kKeyBlock, a.keys);
  load_rows<kWarps, kKeyBlock>(block, values, a.v, a, b, head, n * kKeyBlock, a.keys);
}

// The sum of the products of two chunks of eight bf16.
template <class Block>
ALIBI_KERNEL float chunk_product(const Words4& x, const Words4& y) {
  float sum = 0;
  ALIBI_UNROLL for (int i = 0; i < 4; ++i) {
    ALIBI_UNROLL for (int shift = 0; shift < 32; shift += 16) sum +=
        Block::widened(static_cast<std::uint16_t>(x.v[i] >> shift)) *
        Block::widened(static_cast<std::uint16_t>(y.v[i] >> shift));
  }
  return sum;
}

// One of four lanes' share of the product of two rows of bf16 in memory.
template <class Block>
ALIBI_KERNEL float quarter_product(const std::uint16_t* x, const std::uint16_t* y, int width,
                                   int part) {
  float sum = 0;
  for (int i = 8 * part; i < width; i += 32)
    sum += chunk_product<Block>(Block::chunk(x + i), Block::chunk(y + i));
  return sum;
}

// Fragments out of rows in shared memory: a left operand's 16 rows from `row` on, columns 16 w on;
// two right operands of 16 rows each, whose columns are the rows of memory (load) or its columns
// (load_transposed).
template <int kWidth, class Block>
ALIBI_KERNEL auto left_of(Block& block, const SharedRows<kWidth>& rows, int row, int w) {
  return block.load([&](int lane) { return rows.chunk(row + lane % 16, 2 * w + lane / 16); });
}
template <int kWidth, class Block>
ALIBI_KERNEL auto right_rows(Block& block, const SharedRows<kWidth>& rows, int row, int w) {
  return block.load(
      [&](int lane) { return rows.chunk(row + lane % 8 + lane / 16 * 8, 2 * w + lane / 8 % 2); });
}
template <int kWidth, class Block>
ALIBI_KERNEL auto right_columns(Block& block, const SharedRows<kWidth>& rows, int row, int w) {
  return block.load_transposed(
      [&](int lane) { return rows.chunk(row + lane % 16, 2 * w + lane / 16); });
}

// Two tiles of sums, 16 x 16 together, as a left operand.
template <class Block>
ALIBI_KERNEL auto left_of_sums(Block& block, typename Block::template Lanes<Floats4>& near,
                               typename Block::template Lanes<Floats4>& far) {
  typename Block::template Lanes<Words4> left;
  block.each_lane([&](int lane) {
    const Floats4 n = near[lane], f = far[lane];
    left[lane] = Words4{{Block::pair(n.v[0], n.v[1]), Block::pair(n.v[2], n.v[3]),
                         Block::pair(f.v[0], f.v[1]), Block::pair(f.v[2], f.v[3])}};
  });
  return left;
}

// Two columns in a lane's turn out of each tile of sums, times `scale`, for those below `width`:
// row `half` of the lane's two, whose four lanes write it together from `first` on.
template <int kTiles, class Block>
ALIBI_KERNEL void store_row(Block&, std::uint16_t* row,
                            const typename Block::template Lanes<Floats4> (&sums)[kTiles], int lane,
                            int half, int first, int width, float scale) {
  ALIBI_UNROLL for (int w = 0; w < kTiles; ++w) {
    const int column = first + 8 * w + 2 * (lane % 4);
    if (column >= width) continue;
    const Floats4 x = sums[w][lane];
    Block::store(row + column, Block::pair(x.v[2 * half] * scale, x.v[2 * half + 1] * scale));
  }
}

// Of a lane's scores of row `half` in kTiles neighbouring tiles of sums, those whose columns have
// no bit become `hidden`; bit 0 is of the lane's first column.
template <int kTiles, class LanesOfFloats4>
ALIBI_KERNEL void keep_shown(LanesOfFloats4* tiles, int lane, int half, std::uint64_t bits,
                             float hidden) {
  ALIBI_UNROLL for (int j = 0; j < kTiles; ++j) {
    ALIBI_UNROLL for (int e = 0; e < 2; ++e) {
      float& x = tiles[j][lane].v[2 * half + e];
      x = (bits >> (8 * j + e) & 1) != 0 ? x : hidden;
    }
  }
}

template <int kCount, class Block>
ALIBI_KERNEL void clear(Block& block, typename Block::template Lanes<Floats4> (&sums)[kCount]) {
  ALIBI_UNROLL for (int i = 0; i < kCount; ++i) {
    block.each_lane([&](int lane) { sums[i][lane] = Floats4{{0, 0, 0, 0}}; });
  }
}

}  // namespace alibi
