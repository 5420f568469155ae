// How far a query can reach at most: the largest norm of any key in a block of 64 and in all blocks
// before it, which the forward's skip test asks for. Two kernels of one warp a block: KeyNorms over
// (key blocks, G, B), then KeyReach over (G, B).
#pragma once

#include "kernels/cuda/attention_work.h"

namespace alibi {

// A NaN stays: what is behind it is never left out.
ALIBI_KERNEL void raise(float& most, float norm) {
  if (most == most && !(norm <= most)) most = norm;
}

template <class Block>
class KeyNorms {
 public:
  static constexpr int kSharedBytes = 32 * 4;

  // norms_BGN: out.
  ALIBI_KERNEL static void run(const DeviceAttention& a, float* norms_BGN, Block& block) {
    typename Block::template Lanes<float> most;
    block.each_lane([&](int lane) { most[lane] = 0; });
    const int first = block.x() * kKeyBlock;
    for (int row = first; row < first + kKeyBlock; row += 8) {
      typename Block::template Lanes<float> squares;
      block.each_lane([&](int lane) {  // four lanes a row
        squares[lane] = quarter(a, block, row + lane / 4, lane % 4);
      });
      block.quad_sum(squares);
      block.each_lane([&](int lane) {
        const float norm = Block::root(squares[lane]);
        raise(most[lane], norm);
      });
    }
    block.each_lane([&](int lane) { block.template at<float>(4 * lane) = most[lane]; });
    block.sync();
    block.each_lane([&](int lane) {
      if (lane != 0) return;
      float all = 0;
      for (int i = 0; i < 32; ++i) raise(all, block.template at<float>(4 * i));
      norms_BGN[(static_cast<std::int64_t>(block.z()) * a.key_value_heads + block.y()) *
                    a.key_blocks() +
                block.x()] = all * 1.001F;
    });
  }

 private:
  ALIBI_KERNEL static float quarter(const DeviceAttention& a, Block& block, int key, int part) {
    if (key >= a.keys) return 0;
    const std::uint16_t* row = a.k.at(block.z(), block.y(), key);
    return quarter_product<Block>(row, row, a.width, part);
  }
};

template <class Block>
class KeyReach {
 public:
  static constexpr int kSharedBytes = 32 * 4;

  // In place: each block's largest norm becomes that of it and all before.
  ALIBI_KERNEL static void run(const DeviceAttention& a, float* norms_BGN, Block& block) {
    const int blocks = a.key_blocks(), share = (blocks + 31) / 32;
    float* norms =
        norms_BGN + (static_cast<std::int64_t>(block.y()) * a.key_value_heads + block.x()) * blocks;
    block.each_lane([&](int lane) {
      float most = 0;
      for (int n = lane * share; n < (lane + 1) * share && n < blocks; ++n) raise(most, norms[n]);
      block.template at<float>(4 * lane) = most;
    });
    block.sync();
    block.each_lane([&](int lane) {
      float most = 0;
      for (int i = 0; i < lane; ++i) raise(most, block.template at<float>(4 * i));
      for (int n = lane * share; n < (lane + 1) * share && n < blocks; ++n) {
        raise(most, norms[n]);
        norms[n] = most;
      }
    });
  }
};

}  // namespace alibi
