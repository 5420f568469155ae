// A dropout mask, a block for each row: what fill_dropout() draws (base/random.h), to the bit. Four
// numbers come from one counter of Philox4x32-10 (Salmon et al. 2011), which a thread computes.
#pragma once

#include "kernels/cuda/kernel_block.h"
#include "kernels/device_row_ops.h"

namespace alibi {

template <class Block>
class DropoutRow {
 public:
  static constexpr int kWarps = 4;

  ALIBI_KERNEL DropoutRow(const DeviceDropout& a, Block& block) : a_(a), block_(block) {}

  ALIBI_KERNEL void run() {
    const auto row = static_cast<std::uint64_t>(a_.rows_N[block_.x()]);
    float* const mask = a_.mask_NW + static_cast<std::int64_t>(block_.x()) * a_.width;
    block_.each_lane([&](int lane) {
      for (int four = 32 * block_.warp() + lane; 4 * four < a_.width; four += 32 * kWarps) {
        const Words4 words = philox(static_cast<std::uint32_t>(four), row);
        ALIBI_UNROLL for (int i = 0; i < 4; ++i) {
          if (4 * four + i < a_.width)
            mask[4 * four + i] = words.v[i] < a_.dropped_below ? 0.0F : a_.kept;
        }
      }
    });
  }

 private:
  ALIBI_KERNEL Words4 philox(std::uint32_t counter, std::uint64_t row) const {
    std::uint32_t k0 = a_.key_low, k1 = a_.key_high;
    Words4 c{{counter, 0, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)}};
    ALIBI_UNROLL for (int round = 0; round < 10; ++round) {
      const std::uint64_t first = 0xd2511f53ULL * c.v[0], second = 0xcd9e8d57ULL * c.v[2];
      c = {{static_cast<std::uint32_t>(second >> 32) ^ c.v[1] ^ k0,
            static_cast<std::uint32_t>(second),
            static_cast<std::uint32_t>(first >> 32) ^ c.v[3] ^ k1,
            static_cast<std::uint32_t>(first)}};
      k0 += 0x9e3779b9U;
      k1 += 0xbb67ae85U;
    }
    return c;
  }

  const DeviceDropout& a_;
  Block& block_;
};

}  // namespace alibi
