#include "kernels/tile_gemm.h"

#include <ATen/native/CPUBlas.h>

namespace alibi {

void tile_gemm_bf16(const TileProduct& p) {
  at::native::cpublas::brgemm(p.m, p.n, p.k, p.a_stride != 0 ? p.a_stride : p.k, p.n,
                              p.c_stride != 0 ? p.c_stride : p.n, p.add,
                              static_cast<const at::BFloat16*>(p.a),
                              static_cast<const at::BFloat16*>(p.b), p.c, /*is_vnni=*/true);
}

void tile_gemm_fp32(const TileProduct& p) {
  at::native::cpublas::brgemm(p.m, p.n, p.k, p.k, p.n, p.n, p.add, static_cast<const float*>(p.a),
                              static_cast<const float*>(p.b), p.c, /*is_vnni=*/false);
}

void tile_gemm_release() { at::native::cpublas::brgemm_release(/*is_vnni=*/true); }

}  // namespace alibi
