// What kernels are written against: one block of a device's threads (device_block.h), or the same
// block played by threads of the host, where every address, wait and barrier is checked
// (tests/kernels/cuda/host_block.h). A kernel body is a template over that `Block` and has one
// source.
//
// Bodies are written for a warp: what its 32 lanes do apart goes through each_lane(), what they do
// together through the block's own functions. A Block has
//
//   Lanes<T>                     one T a lane: value[lane]
//   x(), y(), z()                its place in the grid
//   warp()                       which of its warps this code runs for
//   each_lane(f)                 f(lane) for 0 to 31
//   at<T>(offset)                shared memory, in bytes from its start
//   copy16(offset, from, there)  16 bytes of memory into shared memory, zeros where !there; done,
//                                and seen by other warps, after wait() and sync()
//   wait()                       for this warp's copies
//   sync()                       all warps come here before one goes on
//   all(lanes)                   whether it holds for every lane of every warp; a sync() too
//   load(offset_of)              four 8 x 8 matrices of 16-bit numbers: lane 8 m + r names row r of
//                                matrix m; each lane gets one pair of each (PTX: ldmatrix.x4)
//   load_transposed(offset_of)   the same of the matrices' transposes
//   multiply(sums, left, right)  sums (16 x 8 fp32) += left (16 x 16) right (16 x 8), bf16 (PTX:
//                                mma.sync.m16n8k16)
//   quad_max(x), quad_sum(x)     over the four lanes that share a row of sums
//   warp_max(x), warp_sum(x)     over all lanes of the warp
//
// Fragments, with g = lane / 4 and t = lane % 4 (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//   sums   0, 1: row g, columns 2t, 2t + 1;  2, 3: row g + 8
//   left   0: row g, columns 2t, 2t + 1;  1: row g + 8;  2, 3: the same of columns 8 more
//   right  0: rows 2t, 2t + 1 of column g;  1: rows 8 more
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define ALIBI_KERNEL __device__ __forceinline__
#define ALIBI_UNROLL _Pragma("unroll")
#else
#define ALIBI_KERNEL inline
#define ALIBI_UNROLL
#endif

namespace alibi {

// Blocks of a launch.
struct KernelGrid {
  int x = 1, y = 1, z = 1;
};

struct Floats4 {
  float v[4];
};
struct alignas(16) FloatChunk {  // as it lies in memory
  float v[4];
};
struct alignas(16) Words4 {
  std::uint32_t v[4];
};

// Rows of `kWidth` 16-bit numbers in shared memory, in chunks of 16 bytes. The chunks of a row are
// permuted so that eight neighbouring rows of one column of chunks lie in different banks.
template <int kWidth>
struct SharedRows {
  static_assert(kWidth % 32 == 0, "a row holds whole groups of four chunks");
  static constexpr int kChunks = kWidth / 8;
  static constexpr int kRowBytes = kWidth * 2;
  static constexpr int kGroup = kChunks % 8 == 0 ? 8 : 4;  // chunks that change places

  std::uint32_t start;  // offset in shared memory

  ALIBI_KERNEL std::uint32_t chunk(int row, int chunk_of_row) const {
    const int turn = kGroup == 8 ? row & 7 : (row >> 1) & 3;
    return start + static_cast<std::uint32_t>(row * kRowBytes + ((chunk_of_row ^ turn) * 16));
  }
};

}  // namespace alibi
