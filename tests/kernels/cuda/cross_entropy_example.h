// Rows of bf16 logits as the device's kernel gets them, and the formula in fp64 with how far
// rounding can take a kernel from it:
//
// A thread adds up to V / 1024 exponentials one after another, each within 2^-22, so a sum is
// within e = (40 + V / 1024) 2^-24 of its own and log_sum within e + 2^-22 |log_sum|; the loss is
// formed from the difference of its largest logit and the target's, and so within e + 2^-22 |loss|.
// A gradient is within 2^-8 of its own, by bf16, and 2 e of its first term.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cuda/cross_entropy.h"
#include "kernels/cuda/host_block.h"
#include "kernels/cuda/larger.h"

namespace alibi {

// `shift`: logits before the first row, whose memory begins at a boundary of 16 bytes; `gap`:
// numbers behind each row that are none of it.
struct LogitSizes {
  int rows = 5, vocabulary = 100, shift = 0, gap = 0;
  int pitch() const { return vocabulary + gap; }
};

class LogitExample {
 public:
  static constexpr std::uint16_t kGuard = 0x4321;  // before, between and behind the rows

  explicit LogitExample(const LogitSizes& s, float size = 3)
      : sizes(s), losses(index(s.rows), 777), log_sums(index(s.rows), 777) {
    std::mt19937 generator(static_cast<unsigned>(s.vocabulary + 7 * s.rows));
    std::normal_distribution<float> normal(0, size);
    memory.assign(index(s.shift) + index(s.rows) * index(s.pitch()) + 8, kGuard);
    for (int r = 0; r < s.rows; ++r) {
      for (int c = 0; c < s.vocabulary; ++c) at(r, c) = HostBlock::rounded(normal(generator));
      // Both ends, a row left out, others anywhere.
      targets.push_back(r == 0   ? 0
                        : r == 1 ? s.vocabulary - 1
                        : r == 2 ? -1 - r
                                 : static_cast<int>(generator()) & 0x7fffffff);
      if (r > 2) targets.back() %= s.vocabulary;
    }
    before = memory;
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::uint16_t& at(int row, int column) { return memory[start_of(row) + index(column)]; }
  void set(int row, int column, float x) {
    at(row, column) = HostBlock::rounded(x);
    before = memory;
  }
  void fill(int row, float x) {
    for (int c = 0; c < sizes.vocabulary; ++c) at(row, c) = HostBlock::rounded(x);
    before = memory;
  }

  DeviceCrossEntropy work() {
    DeviceCrossEntropy a;
    a.rows = sizes.rows;
    a.vocabulary = sizes.vocabulary;
    a.pitch = sizes.pitch();
    a.logits_RV = &at(0, 0);
    a.targets_R = targets.data();
    a.losses_R = losses.data();
    a.log_sums_R = log_sums.data();
    a.scale = scale;
    return a;
  }

  // The largest difference from the formula in units of its bound: at most 1 is right. NaN and
  // what was written outside the rows count as infinite.
  double worst() const {
    double most = 0;
    for (int r = 0; r < sizes.rows; ++r) most = larger(most, worst_of_row(r));
    std::size_t i = 0;
    const auto is_as_before = [&](std::size_t end) {
      for (; i < end; ++i)
        if (memory[i] != before[i]) return false;
      return true;
    };
    for (int r = 0; r < sizes.rows; ++r) {
      if (!is_as_before(start_of(r))) return INFINITY;
      i += index(sizes.vocabulary);
    }
    return is_as_before(memory.size()) ? most : INFINITY;
  }

  LogitSizes sizes;
  GradientScale scale{1.0F / 37, 0};
  std::vector<std::uint16_t> memory, before;  // as it is, and as it was
  std::vector<std::int64_t> targets;
  std::vector<float> losses, log_sums;

 private:
  std::size_t start_of(int row) const {
    return index(sizes.shift) + index(row) * index(sizes.pitch());
  }
  static double off(double found, double expected, double bound) {
    return larger(0, std::abs(found - expected) / bound);
  }
  double worst_of_row(int row) const {
    const std::size_t start = start_of(row);
    const auto x = [&](int c) { return double{HostBlock::widened(before[start + index(c)])}; };
    const auto found = [&](int c) { return double{HostBlock::widened(memory[start + index(c)])}; };
    const std::int64_t target = targets[index(row)];
    double top = -INFINITY, sum = 0;
    for (int c = 0; c < sizes.vocabulary; ++c) top = std::max(top, x(c));
    for (int c = 0; c < sizes.vocabulary; ++c) sum += std::exp(x(c) - top);
    const bool in = target >= 0;
    const double log_sum = in ? top + std::log(sum) : 0;
    const double loss = in ? std::log(sum) + top - x(static_cast<int>(target)) : 0;
    const double e = (40 + sizes.vocabulary / 1024.0) * 0x1p-24;
    const double e_log = e + 0x1p-22 * std::abs(log_sum);
    double most = larger(off(losses[index(row)], loss, e + 0x1p-22 * loss),
                         off(log_sums[index(row)], log_sum, e_log));
    for (int c = 0; c < sizes.vocabulary; ++c) {
      if (scale.all == 0) {  // as it was
        most = larger(most, found(c) == x(c) ? 0 : INFINITY);
        continue;
      }
      const double p = in ? std::exp(x(c) - top) / sum : 0, pull = 1 + 2 * scale.z * log_sum;
      const double gradient = scale.all * (p * pull - (c == target ? 1 : 0));
      const double bound = 1.01 * 0x1p-8 * std::abs(gradient) + 1e-37 +
                           scale.all * p * (2 * e * std::abs(pull) + 2 * scale.z * e_log) +
                           (c == target ? scale.all * 0x1p-22 : 0);
      most = larger(most, off(found(c), gradient, bound));
    }
    return most;
  }
};

// The kernel's body over its whole grid, as a device would launch it.
inline void run_cross_entropy(const DeviceCrossEntropy& a) {
  using Row = CrossEntropyRow<HostBlock>;
  run_grid({a.rows, 1, 1}, Row::kWarps, Row::kSharedBytes,
           [&](HostBlock& block) { Row(a, block).run(); });
}

}  // namespace alibi
