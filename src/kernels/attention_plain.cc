// The portable tile arithmetic for any processor.
#include "kernels/processor.h"
#include "kernels/tile_ops.h"
// clang-format off
#include "kernels/attention_portable.inc"
// clang-format on

namespace alibi {
const TileOps kPlainBf16Tiles = portable_ops<Bf16>("plain", always_there);
const TileOps kPlainFp32Tiles = portable_ops<Fp32>("plain", always_there);

}  // namespace alibi
