// Stands for the files of x86 (CMakeLists.txt) on other processors: nothing of theirs is there. Who
// asks has_...() or TileOps::available first never calls the rest.
#include <cstdlib>

#include "kernels/norm_rows.h"
#include "kernels/packed_product.h"
#include "kernels/processor.h"
#include "kernels/row_ops.h"
#include "kernels/tile_ops.h"

namespace alibi {

bool has_avx2() { return false; }
bool has_avx512() { return false; }
bool has_avx512_bf16() { return false; }

namespace {

constexpr TileOps absent(const char* name, bool bf16_memory) {
  TileOps ops{};
  ops.name = name;
  ops.bf16_memory = bf16_memory;
  ops.available = has_avx2;
  return ops;
}

}  // namespace

const TileOps kAvx512Bf16Tiles = absent("avx512", true);
const TileOps kAvx512Fp32Tiles = absent("avx512", false);
const TileOps kAvx2Bf16Tiles = absent("avx2", true);
const TileOps kAvx2Fp32Tiles = absent("avx2", false);

void tile_gemm_bf16(const TileProduct&) { std::abort(); }
void tile_gemm_fp32(const TileProduct&) { std::abort(); }
void tile_gemm_release() {}

RowLoss cross_entropy_row_bf16(std::uint16_t*, std::int64_t, std::int64_t, GradientScale) {
  std::abort();
}
void gelu_bf16(const std::uint16_t*, std::int64_t, std::uint16_t*) { std::abort(); }
void gelu_backward_bf16(const std::uint16_t*, const std::uint16_t*, std::int64_t, std::uint16_t*) {
  std::abort();
}

void norm_rows_bf16(const NormRows&, float, std::uint16_t*) { std::abort(); }
void norm_rows_backward_bf16(const NormRows&, const NormRowGradients&) { std::abort(); }

std::int64_t packed_bytes(std::int64_t, std::int64_t) { std::abort(); }
void pack_transposed(const Matrix<const float>&, std::int64_t, void*) { std::abort(); }
void pack_rows(const Matrix<const float>&, std::int64_t, std::int64_t, void*) { std::abort(); }
void pack_rows(const Matrix<const std::uint16_t>&, std::int64_t, std::int64_t, void*) {
  std::abort();
}
void pack_gelu_rows(const Matrix<const std::uint16_t>&, std::int64_t, std::int64_t, void*) {
  std::abort();
}
std::int64_t product_scratch_bytes() { std::abort(); }
void product_block(const PackedProduct&, const ProductBlock&, void*) { std::abort(); }
std::int64_t weight_gradient_scratch_bytes() { std::abort(); }
void weight_gradient_block(const WeightGradient&, std::int64_t, std::int64_t, void*) {
  std::abort();
}

}  // namespace alibi
