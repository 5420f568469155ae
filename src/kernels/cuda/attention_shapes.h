// Which shapes of the attention kernels take which head width and which kind of bias.
#pragma once

#include <type_traits>

#include "kernels/cuda/attention_backward_keys.h"
#include "kernels/cuda/attention_distances.h"
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

inline KernelGrid distance_grid(const DeviceAttention& a) {
  return {a.distance_blocks(), a.heads, a.sequences};
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

// Biases that are not slopes have fewer kernels, each of which costs time to compile and bytes of
// the library.
template <class F>
constexpr auto with_biased_width(int width, const F& f) {
  if (width <= 64) return f(std::integral_constant<int, 64>());
  if (width <= 128) return f(std::integral_constant<int, 128>());
  return f(std::integral_constant<int, kWidestHead>());
}

// Warps and tiles are chosen by registers: shapes of sm_80 and sm_90a spill no more than
// scripts/check_device_code.py allows, which is a few bytes but for patterns at width 256.
template <class Block, int kWidth, BiasKind kKind>
struct AttentionShapes {
  static constexpr int kHeadWidth = kWidth;
  static constexpr BiasKind kBias = kKind;
  static constexpr int kForwardWarps = kWidth == 128 ? 8 : 4;
  static constexpr int kForwardTiles = kWidth == 64 ? 2 : 1;
  static constexpr int kQueryWarps = 4;
  // Two tiles of 16 keys a warp halve what it reads from shared memory, which took 70 % of the time
  // of an H100; with terms of keys they would spill.
  static constexpr int kKeyTiles = kWidth == 64 && kKind != BiasKind::kTerms ? 2 : 1;
  static constexpr int kParts = kWidth > 128 ? 2 : 1;
  static constexpr int kQueries = kWidth == 64 && kKeyTiles == 1 ? 64 : 32;
  using Forward = AttentionForward<Block, kWidth, kForwardWarps, kForwardTiles, kKind>;
  using QueryGradient = AttentionQueryGradient<Block, kWidth, kQueryWarps, kKind>;
  using KeyGradient = AttentionKeyGradient<Block, kWidth, kParts, kKeyTiles, kQueries, kKind>;
  using DistanceGradient = AttentionDistanceGradient<Block, kWidth, kKind>;
};

// Calls f with the AttentionShapes of heads of `width` numbers and biases of this kind.
template <class Block, class F>
constexpr auto with_shapes(int width, BiasKind kind, const F& f) {
  const auto of_kind = [&](auto constant) {
    return with_biased_width(
        width, [&](auto kernel) { return f(AttentionShapes<Block, kernel(), constant()>()); });
  };
  if (kind == BiasKind::kTable)
    return of_kind(std::integral_constant<BiasKind, BiasKind::kTable>());
  if (kind == BiasKind::kTerms)
    return of_kind(std::integral_constant<BiasKind, BiasKind::kTerms>());
  if (kind == BiasKind::kShownTable)
    return of_kind(std::integral_constant<BiasKind, BiasKind::kShownTable>());
  return with_kernel_width(
      width, [&](auto kernel) { return f(AttentionShapes<Block, kernel(), BiasKind::kSlopes>()); });
}

// Query rows that share an entry of first_BHM.
template <class Block>
constexpr int forward_rows(int width, BiasKind kind) {
  return with_shapes<Block>(width, kind,
                            [](auto shapes) -> int { return decltype(shapes)::Forward::kRows; });
}

}  // namespace alibi
