// The portable tile arithmetic for any processor.
#include "kernels/tile_ops.h"
// clang-format off
#include "kernels/attention_portable.inc"
// clang-format on

namespace alibi {
namespace {

bool always() { return true; }

}  // namespace

const TileOps kPlainBf16Tiles = portable_ops<Bf16>("plain", always);
const TileOps kPlainFp32Tiles = portable_ops<Fp32>("plain", always);

}  // namespace alibi
