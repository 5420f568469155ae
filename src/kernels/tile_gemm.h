// Products of small row-major tiles by LibTorch's just-in-time tile GEMM, behind raw pointers.
//
// The right operand of a bf16 product is given in row pairs: element (k, n) of [K][N] stands at
// [k / 2][n][k % 2]. Each new shape costs code generation (0.04 to 8 ms a thread): use few;
// std::bad_alloc where memory for the code is lacking.
#pragma once

#include <cstdint>

namespace alibi {

// c[M][N] = a[M][K] b[K][N], or += with `add`; sums in fp32. Rows are as far apart as they are long
// unless a stride (in numbers) says otherwise.
struct TileProduct {
  std::int64_t m, n, k;
  const void* a;
  const void* b;
  float* c;
  bool add;
  std::int64_t a_stride = 0, c_stride = 0;  // bf16 only
};

void tile_gemm_bf16(const TileProduct& product);  // needs avx512_bf16; throws c10::Error without it
void tile_gemm_fp32(const TileProduct& product);  // needs avx2

// Ends a thread's use of tile_gemm_bf16. On processors with AMX the products keep the thread's tile
// registers configured from call to call; another library that configures them in between would
// make the next product an illegal instruction.
void tile_gemm_release();

}  // namespace alibi
