// The portable tile arithmetic, compiled for AVX2 and fused multiply-add.
#include "kernels/processor.h"
#include "kernels/tile_ops.h"
// clang-format off
#include "kernels/attention_portable.inc"
// clang-format on

namespace alibi {
const TileOps kAvx2Bf16Tiles = portable_ops<Bf16>("avx2", has_avx2);
const TileOps kAvx2Fp32Tiles = portable_ops<Fp32>("avx2", has_avx2);

}  // namespace alibi
