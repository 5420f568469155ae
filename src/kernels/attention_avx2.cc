// The portable tile arithmetic, compiled for AVX2 and fused multiply-add.
#include "kernels/tile_ops.h"
// clang-format off
#include "kernels/attention_portable.inc"
// clang-format on

namespace alibi {
namespace {

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace

const TileOps kAvx2Bf16Tiles = portable_ops<Bf16>("avx2", has_avx2);
const TileOps kAvx2Fp32Tiles = portable_ops<Fp32>("avx2", has_avx2);

}  // namespace alibi
