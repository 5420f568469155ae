// Which shapes of the attention kernels take which head width.
#pragma once

#include <type_traits>

#include "kernels/cuda/attention_backward_keys.h"
#include "kernels/cuda/attention_forward.h"
#include "kernels/cuda/kernel_block.h"

namespace alibi {

inline constexpr int kWidestHead = 256;

inline KernelGrid query_grid(const DeviceAttention& a, int rows) {
  return {(a.queries + rows - 1) / rows, a.heads, a.sequences};
}
inline KernelGrid key_grid(const DeviceAttention& a, int parts) {
  return {a.key_blocks() * parts, a.key_value_heads, a.sequences};
}
inline KernelGrid reach_grid(const DeviceAttention& a) {
  return {a.key_value_heads, a.sequences, 1};
}

// Calls f with the narrowest kernel width, as a constant, that holds heads of `width` numbers.
template <class F>
constexpr auto with_kernel_width(int width, const F& f) {
  if (width <= 64) return f(std::integral_constant<int, 64>());
  if (width <= 96) return f(std::integral_constant<int, 96>());
  if (width <= 128) return f(std::integral_constant<int, 128>());
  if (width <= 192) return f(std::integral_constant<int, 192>());
  return f(std::integral_constant<int, kWidestHead>());
}

// Warps and tiles are chosen by registers: no shape of sm_80 or sm_90a spills more than a few
// bytes.
template <class Block, int kWidth>
struct AttentionShapes {
  static constexpr int kForwardWarps = kWidth == 128 ? 8 : 4;
  static constexpr int kForwardTiles = kWidth == 64 ? 2 : 1;
  static constexpr int kQueryWarps = 4;
  static constexpr int kParts = kWidth > 128 ? 2 : 1;
  static constexpr int kQueries = kWidth == 64 ? 64 : 32;
  using Forward = AttentionForward<Block, kWidth, kForwardWarps, kForwardTiles>;
  using QueryGradient = AttentionQueryGradient<Block, kWidth, kQueryWarps>;
  using KeyGradient = AttentionKeyGradient<Block, kWidth, kParts, kQueries>;
};

// Query rows that share an entry of first_BHM, for heads of this width.
template <class Block>
constexpr int forward_rows(int width) {
  return with_kernel_width(
      width, [](auto kernel) { return AttentionShapes<Block, kernel()>::Forward::kRows; });
}

}  // namespace alibi
