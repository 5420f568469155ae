// The three products of a linear layer in bf16 with fp32 sums, their right operand packed: once for
// a weight and many rows, where a general library repacks it in every call. They need
// has_avx512_bf16().
//
//   y[N][O] = x[N][I] w^T          right operand: w^T, packed by pack_transposed
//   dx[N][I] = dy[N][O] w          right operand: w, packed by pack_rows
//   dw[O][I] = dy^T x              right operand: x, packed by pack_rows; stays fp32
//
// Packed: panels of 64 columns, one behind the other; element (k, n) of a panel stands at
// [k / 2][n][k % 2]. What an odd last row or a panel of fewer columns lacks is zero.
//
// Each sum runs over k in one order, however rows and columns are cut into blocks.
//
// Ladder (4096 rows, two threads, Xeon with AMX; GFLOP/s of qkv, up, down at width 512):
//   LibTorch's linear                             1606  1700  1380
//   packed, blocks of 64 rows                           2084  1751
//   256 rows, depth in pieces of 512              2676  2569  2111
// The last two are the tile products and plain stores in a loop. As a step calls them, with memory
// of its own for each result (`alibi bench gemm`): 1865  1805  1504, beside LibTorch's 1495  1487
// 1246 in that run.
#pragma once

#include <cstdint>

namespace alibi {

inline constexpr std::int64_t kPanel = 64;
inline constexpr std::int64_t kBlockRows = 256;  // of a work item, at most

std::int64_t packed_bytes(std::int64_t depth, std::int64_t columns);

// A row-major matrix; rows `stride` numbers apart.
template <class Number>
struct Matrix {
  Number* data;
  std::int64_t rows, columns, stride;
};

// Packs the panel that holds columns 64 * panel ... of w^T, which are rows of w.
void pack_transposed(const Matrix<const float>& w, std::int64_t panel, void* packed);
// Packs rows first ... first + count - 1 into all panels. `first` is even; so is `count`, unless
// the last row is among them.
void pack_rows(const Matrix<const float>& x, std::int64_t first, std::int64_t count, void* packed);
void pack_rows(const Matrix<const std::uint16_t>& x, std::int64_t first, std::int64_t count,
               void* packed);
// The same of gelu(x).
void pack_gelu_rows(const Matrix<const std::uint16_t>& x, std::int64_t first, std::int64_t count,
                    void* packed);

struct PackedProduct {
  Matrix<const std::uint16_t> left;  // bf16 [N][depth], depth even
  const void* right;
  Matrix<std::uint16_t> out;    // bf16
  const float* bias = nullptr;  // of out's columns
  // Added to out; rows as far apart as out's.
  const std::uint16_t* base = nullptr;
  // The sums go here as they are, rows as far apart as out's, and nowhere else.
  float* sums = nullptr;
  bool gelu = false;                // out is the GELU of it all
  std::uint16_t* before = nullptr;  // with gelu: what it is taken of goes here, or nowhere
  // Out becomes the product times gelu'(these), element by element; rows likewise.
  const std::uint16_t* gelu_gradient_at = nullptr;
};

// What one work item computes.
struct ProductBlock {
  std::int64_t first_row, rows, first_panel, panels;
};

std::int64_t product_scratch_bytes();
void product_block(const PackedProduct& product, const ProductBlock& block, void* scratch);

struct WeightGradient {
  Matrix<const std::uint16_t> gradient;  // bf16 [N][O]
  const void* inputs;                    // x [N][I], packed; 64 divides I
  Matrix<float> out;                     // [O][I]
  bool add;                              // to what `out` holds
};

std::int64_t weight_gradient_scratch_bytes();
// Rows first ... first + count - 1 of `out`; count <= kBlockRows.
void weight_gradient_block(const WeightGradient& product, std::int64_t first, std::int64_t count,
                           void* scratch);

}  // namespace alibi
