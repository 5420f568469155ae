// What the attention kernels of a device are given (src/kernels/cuda), in plain numbers and
// pointers into its memory. All members are constexpr so that both sides may call them.
//
// Letters: B sequences, H heads, G key/value heads, T queries, S keys, W head width, N key blocks,
// M query blocks. Query i stands at position S - T + i and sees keys from its document's start to
// its own position. Scores of our kernels are in base 2: scale and slopes carry log2(e), as in
// kernels/attention_skip.h.
#pragma once

#include <cstdint>

#include "kernels/head_rows.h"

namespace alibi {

inline constexpr int kKeyBlock = 64;

using DeviceRows = HeadRows<std::uint16_t>;  // bf16; rows are aligned to 16 bytes

struct DeviceAttention {
  int sequences = 0, heads = 0, key_value_heads = 0;
  int queries = 0, keys = 0;
  int width = 0;  // a multiple of 8; kernels pad it to theirs with zeros
  float scale = 1;
  const float* slopes_H = nullptr;         // null: no bias
  float threshold = -1;                    // of the skip test; negative: nothing is left out
  const float* reach_BGN = nullptr;        // with a threshold: attention_norms.h
  const std::int64_t* start_BT = nullptr;  // null: every query sees from key 0
  DeviceRows q, k, v, output;
  float* lse_BHT = nullptr;  // natural log of each row's sum of exponentials
  // Lowest key block that each of the forward's blocks of `first_rows` query rows visited: the
  // backward visits no others.
  std::int32_t* first_BHM = nullptr;
  int first_rows = 0;
  void* workspace = nullptr;  // of a module that asks for one
  // backward only
  DeviceRows output_gradient, q_gradient, k_gradient, v_gradient;
  float* delta_BHT = nullptr;  // each row's output times its gradient, summed

  constexpr int offset() const { return keys - queries; }
  constexpr int group() const { return heads / key_value_heads; }
  constexpr int key_blocks() const { return (keys + kKeyBlock - 1) / kKeyBlock; }
  constexpr float slope(int h) const { return slopes_H == nullptr ? 0.0F : slopes_H[h]; }
  constexpr int start(int b, int query) const {
    if (start_BT == nullptr) return 0;
    return static_cast<int>(start_BT[static_cast<std::int64_t>(b) * queries + query]);
  }
  constexpr std::int64_t row(int b, int h, int query) const {
    return (static_cast<std::int64_t>(b) * heads + h) * queries + query;
  }
  // Of the rows that `query` is one of.
  constexpr std::int32_t& first_block(int b, int h, int query) const {
    const int blocks = (queries + first_rows - 1) / first_rows;
    return first_BHM[(static_cast<std::int64_t>(b) * heads + h) * blocks + query / first_rows];
  }
};

}  // namespace alibi
