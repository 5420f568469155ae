// Rows of a dropout mask as the device's kernel gets them, and what the processor draws.
#pragma once

#include <vector>

#include "base/dropout_rule.h"
#include "base/random.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/host_block.h"

namespace alibi {

struct DropoutExample {
  static constexpr float kGuard = 777;  // behind the rows

  DropoutExample(int width_of_rows, double probability) : width(width_of_rows), p(probability) {
    mask.assign(rows.size() * static_cast<std::size_t>(width) + 4, kGuard);
  }

  DeviceDropout work() {
    const DropoutRule rule(p);
    return {.rows = static_cast<int>(rows.size()),
            .width = width,
            .key_low = static_cast<std::uint32_t>(key.value),
            .key_high = static_cast<std::uint32_t>(key.value >> 32),
            .dropped_below = rule.dropped_below,
            .kept = rule.kept,
            .rows_N = rows.data(),
            .mask_NW = mask.data()};
  }

  std::vector<float> expected() const {
    std::vector<float> all(mask.size(), kGuard);
    for (std::size_t n = 0; n < rows.size(); ++n)
      fill_dropout(
          key, static_cast<std::uint64_t>(rows[n]), p,
          {all.data() + n * static_cast<std::size_t>(width), static_cast<std::size_t>(width)});
    return all;
  }

  int width;
  double p;
  RandomKey key = RandomKey{11}.with("dropout");
  std::vector<std::int64_t> rows = {0, 1, 31, (1LL << 32) - 1, 1LL << 32, (1LL << 40) + 3};
  std::vector<float> mask;
};

inline void run_dropout(const DeviceDropout& a) {
  using Row = DropoutRow<HostBlock>;
  run_grid({a.rows, 1, 1}, Row::kWarps, 16, [&](HostBlock& block) { Row(a, block).run(); });
}

}  // namespace alibi
