// What the kernels of a device that go over rows are given (src/kernels/cuda/row_ops.cu), in plain
// numbers and pointers into its memory. What they compute is in kernels/row_ops.h and
// kernels/norm_rows.h.
//
// Letters: R and N rows, V vocabulary, C and W width, P partial sums.
#pragma once

#include <cstdint>

#include "kernels/row_ops.h"

namespace alibi {

// cross_entropy_row_bf16 of every row.
struct DeviceCrossEntropy {
  int rows = 0, vocabulary = 0;
  std::int64_t pitch = 0;                   // logits from a row's start to the next one's
  std::uint16_t* logits_RV = nullptr;       // bf16; rows begin anywhere
  const std::int64_t* targets_R = nullptr;  // below V; negative: the row is left out
  float* losses_R = nullptr;                // out, with log_sums_R; 0 for rows left out
  float* log_sums_R = nullptr;
  GradientScale scale;  // with one the logits are overwritten; a row left out gets zeros
};

// Whether the kernels of layer norm know such rows, which begin at boundaries of 16 bytes and are
// counted in an int, as are those of the next round behind the last.
constexpr bool device_norm_knows(std::int64_t rows, std::int64_t width) {
  return rows > 0 && rows <= 1 << 30 && width > 0 && width % 8 == 0 && width <= 8192;
}

// norm_rows_bf16 of every row.
struct DeviceNorm {
  int rows = 0, width = 0;
  const std::uint16_t* x_NC =
      nullptr;  // bf16, as y_NC; they and fp32 gains are aligned to 16 bytes
  const float* weight_C = nullptr;
  const float* bias_C = nullptr;  // or null
  float epsilon = 0;
  std::uint16_t* y_NC = nullptr;  // out
  float* mean_N = nullptr;        // out, with reciprocal_N; null: not kept
  float* reciprocal_N = nullptr;  // 1 / sqrt(variance + epsilon)
};

// norm_rows_backward_bf16 of every row, but for the sums over rows: each of P blocks walks rows in
// an order of its own and leaves what it summed.
struct DeviceNormGradient {
  int rows = 0, width = 0;
  int parts = 0;  // P, which decides the bits of the sums: at most device_norm_parts(rows, width)
  const std::uint16_t* x_NC = nullptr;      // bf16, as all _NC; they, gains and sums are aligned
  const std::uint16_t* dy_NC = nullptr;     // to 16 bytes
  const std::uint16_t* added_NC = nullptr;  // added to dx; or null
  const float* weight_C = nullptr;
  const float* mean_N = nullptr;  // as the forward kernel left them
  const float* reciprocal_N = nullptr;
  std::uint16_t* dx_NC = nullptr;  // out
  float* sums_P2C = nullptr;       // out: of gains, of biases
};

// fill_dropout of every row (base/random.h).
struct DeviceDropout {
  int rows = 0, width = 0;
  std::uint32_t key_low = 0, key_high = 0;
  std::uint32_t dropped_below = 0;       // of words of 32 bits
  float kept = 1;                        // what stands for a number that is not dropped
  const std::int64_t* rows_N = nullptr;  // each row's counter
  float* mask_NW = nullptr;              // out, rows behind each other
};

// A row belongs to one warp up to this width, beyond it to the eight warps of a block.
inline constexpr int kDeviceNormWarps = 8, kDeviceNormWarpWidth = 1024;

constexpr int device_norm_rows_of_block(int width) {
  return width <= kDeviceNormWarpWidth ? kDeviceNormWarps : 1;
}

// Two blocks for each of an H100's 132 multiprocessors, four of the small ones that a row of up to
// 2048 needs; of rows whose blocks fill one alone (from 776 and from 4104 on) half have to wait.
// The same on every device, and so are the bits of the sums.
constexpr int device_norm_parts(int rows, int width) {
  const int most = width > kDeviceNormWarpWidth && width <= 2048 ? 528 : 264;
  const int at_once = device_norm_rows_of_block(width);
  const int blocks = rows / at_once + (rows % at_once != 0 ? 1 : 0);
  return blocks < most ? blocks : most;
}

}  // namespace alibi
