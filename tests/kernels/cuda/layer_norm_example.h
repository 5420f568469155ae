// Rows of bf16 numbers as the device's kernels of layer norm get them, and the formula in fp64 with
// how far rounding can take a kernel from it. With e = 2^-24:
//
// A sum over a row is of at most 40 steps in a lane and between lanes, each within e of what it
// sums, so a mean is within 40 e mean|x| and n = (x - mean) / deviation within
// d = 40 e mean|x| / deviation + 50 e |n|. What is written in bf16 is within 2^-8 of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cuda/host_block.h"
#include "kernels/cuda/larger.h"
#include "kernels/cuda/layer_norm.h"

namespace alibi {

struct NormSizes {
  int rows = 5, width = 24;
  bool biased = true, added = true;
  int most_parts = 1 << 30;
};

class NormExample {
 public:
  static constexpr std::uint16_t kGuard = 0x4321;  // behind the rows of y and dx
  static constexpr float kGuardSum = 777;

  explicit NormExample(const NormSizes& s, float offset = 3) : sizes(s) {
    std::mt19937 generator(static_cast<unsigned>(s.width + 7 * s.rows));
    std::normal_distribution<float> normal(0, 1);
    const auto fill = [&](std::vector<std::uint16_t>& bf16, float middle) {
      for (std::size_t i = 0; i < numbers(); ++i)
        bf16.push_back(HostBlock::rounded(middle + normal(generator)));
    };
    fill(x, offset);
    fill(dy, 0.25F);
    if (s.added) fill(added, 0);
    for (int c = 0; c < s.width; ++c) weight.push_back(1 + normal(generator) / 4);
    for (int c = 0; s.biased && c < s.width; ++c) bias.push_back(normal(generator));
    y = dx = std::vector<std::uint16_t>(numbers() + 8, kGuard);
    mean = reciprocal = std::vector<float>(index(s.rows) + 1, kGuardSum);
    sums = std::vector<float>(index(parts()) * 2 * index(s.width) + 4, kGuardSum);
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::size_t numbers() const { return index(sizes.rows) * index(sizes.width); }
  std::size_t at(int row, int column) const {
    return index(row) * index(sizes.width) + index(column);
  }
  int parts() const {
    return std::min(device_norm_parts(sizes.rows, sizes.width), sizes.most_parts);
  }

  DeviceNorm forward_work() {
    DeviceNorm a;
    a.rows = sizes.rows;
    a.width = sizes.width;
    a.x_NC = x.data();
    a.weight_C = weight.data();
    a.bias_C = sizes.biased ? bias.data() : nullptr;
    a.epsilon = kEpsilon;
    a.y_NC = y.data();
    a.mean_N = mean.data();
    a.reciprocal_N = reciprocal.data();
    return a;
  }

  // After a forward, or with_exact_statistics().
  DeviceNormGradient backward_work() {
    DeviceNormGradient a;
    a.rows = sizes.rows;
    a.width = sizes.width;
    a.parts = parts();
    a.x_NC = x.data();
    a.dy_NC = dy.data();
    a.added_NC = sizes.added ? added.data() : nullptr;
    a.weight_C = weight.data();
    a.mean_N = mean.data();
    a.reciprocal_N = reciprocal.data();
    a.dx_NC = dx.data();
    a.sums_P2C = sums.data();
    return a;
  }

  void set_exact_statistics() {
    for (int r = 0; r < sizes.rows; ++r) {
      mean[index(r)] = static_cast<float>(row(r).mean);
      reciprocal[index(r)] = static_cast<float>(row(r).reciprocal);
    }
  }

  // The largest difference from the formula in units of its bound: at most 1 is right. NaN and
  // what was written behind the rows count as infinite.
  double worst_forward() const {
    double most =
        y_is_whole() && mean.back() == kGuardSum && reciprocal.back() == kGuardSum ? 0 : INFINITY;
    for (int r = 0; r < sizes.rows; ++r) {
      const Row of = row(r);
      most = larger(most, off(mean[index(r)], of.mean, 40 * kUnit * of.size));
      most = larger(most, off(reciprocal[index(r)], of.reciprocal, 50 * kUnit * of.reciprocal));
      for (int c = 0; c < sizes.width; ++c) most = larger(most, worst_of_y(of, r, c));
    }
    return most;
  }
  double worst_y() const {  // without the statistics
    double most = y_is_whole() ? 0 : INFINITY;
    for (int r = 0; r < sizes.rows; ++r)
      for (int c = 0; c < sizes.width; ++c) most = larger(most, worst_of_y(row(r), r, c));
    return most;
  }

  double worst_backward() const {
    const bool whole =
        std::all_of(dx.begin() + std::ptrdiff_t(numbers()), dx.end(),
                    [](std::uint16_t one) { return one == kGuard; }) &&
        std::all_of(sums.end() - 4, sums.end(), [](float one) { return one == kGuardSum; });
    double most = whole ? 0 : INFINITY;
    std::vector<Total> gains(index(sizes.width)), biases(index(sizes.width));
    for (int r = 0; r < sizes.rows; ++r) most = larger(most, worst_of_row(r, gains, biases));
    // Steps of a lane, of the warps of a block.
    const int at_once = device_norm_rows_of_block(sizes.width) * parts();
    const double steps = 1 + sizes.rows / at_once + kDeviceNormWarps;
    for (int c = 0; c < sizes.width; ++c) {
      double found[2] = {0, 0};
      for (int p = 0; p < parts(); ++p)
        for (int i = 0; i < 2; ++i)
          found[i] += sums[(2 * index(p) + index(i)) * index(sizes.width) + index(c)];
      const Total& gain = gains[index(c)];
      const Total& bias_of = biases[index(c)];
      most = larger(most, off(found[0], gain.sum, steps * kUnit * gain.size + gain.error));
      most = larger(most, off(found[1], bias_of.sum, steps * kUnit * bias_of.size));
    }
    return most;
  }

  NormSizes sizes;
  std::vector<std::uint16_t> x, dy, added, y, dx;
  std::vector<float> weight, bias, mean, reciprocal, sums;

 private:
  static constexpr double kUnit = 0x1p-24, kBf16 = 1.01 * 0x1p-8;
  static constexpr float kEpsilon = 1e-5F;

  struct Row {
    double mean = 0, reciprocal = 0, size = 0;  // mean|x|
    double normed(double of_x) const { return (of_x - mean) * reciprocal; }
    double error(double n) const {
      return 40 * kUnit * size * reciprocal + 50 * kUnit * std::abs(n);
    }
  };
  struct Total {
    double sum = 0, size = 0, error = 0;
    void add(double one, double of_one) {
      sum += one;
      size += std::abs(one);
      error += of_one;
    }
  };

  static double off(double found, double expected, double bound) {
    return larger(0, std::abs(found - expected) / (bound + 1e-37));
  }
  static double wide(std::uint16_t bits) { return double{HostBlock::widened(bits)}; }
  bool y_is_whole() const {
    return std::all_of(y.begin() + std::ptrdiff_t(numbers()), y.end(),
                       [](std::uint16_t one) { return one == kGuard; });
  }

  Row row(int r) const {
    Row of;
    double squares = 0;
    for (int c = 0; c < sizes.width; ++c) of.mean += wide(x[at(r, c)]) / sizes.width;
    for (int c = 0; c < sizes.width; ++c) of.size += std::abs(wide(x[at(r, c)])) / sizes.width;
    for (int c = 0; c < sizes.width; ++c) squares += std::pow(wide(x[at(r, c)]) - of.mean, 2);
    of.reciprocal = 1 / std::sqrt(squares / sizes.width + kEpsilon);
    return of;
  }

  double worst_of_y(const Row& of, int r, int c) const {
    const double n = of.normed(wide(x[at(r, c)])), w = weight[index(c)];
    const double b = sizes.biased ? double{bias[index(c)]} : 0, expected = n * w + b;
    const double bound = kBf16 * std::abs(expected) + std::abs(w) * of.error(n) +
                         4 * kUnit * (std::abs(b) + std::abs(n * w));
    return off(wide(y[at(r, c)]), expected, bound);
  }

  // Also adds the row's share to the sums over all rows.
  double worst_of_row(int r, std::vector<Total>& gains, std::vector<Total>& biases) const {
    const Row of = row(r);
    Total plain, along;  // of g, of g n
    for (int c = 0; c < sizes.width; ++c) {
      const double n = of.normed(wide(x[at(r, c)])), down = wide(dy[at(r, c)]);
      const double g = down * weight[index(c)];
      plain.add(g, 0);
      along.add(g * n, std::abs(g) * of.error(n));
      gains[index(c)].add(down * n, std::abs(down) * of.error(n));
      biases[index(c)].add(down, 0);
    }
    const double mean_g = plain.sum / sizes.width, mean_gn = along.sum / sizes.width;
    const double off_g = 40 * kUnit * plain.size / sizes.width;
    const double off_gn = (40 * kUnit * along.size + along.error) / sizes.width;
    double most = 0;
    for (int c = 0; c < sizes.width; ++c) {
      const double n = of.normed(wide(x[at(r, c)])), g = wide(dy[at(r, c)]) * weight[index(c)];
      const double more = sizes.added ? wide(added[at(r, c)]) : 0;
      const double rest = (g - mean_g - n * mean_gn) * of.reciprocal, expected = rest + more;
      const double size = std::abs(g) + std::abs(mean_g) + std::abs(n * mean_gn);
      const double bound =
          kBf16 * std::abs(expected) + 50 * kUnit * std::abs(rest) + 2 * kUnit * std::abs(more) +
          of.reciprocal *
              (off_g + std::abs(n) * off_gn + of.error(n) * std::abs(mean_gn) + 4 * kUnit * size);
      most = larger(most, off(wide(dx[at(r, c)]), expected, bound));
    }
    return most;
  }
};

// The kernels' bodies over their whole grids, as a device would launch them.
inline void run_norm(const DeviceNorm& a) {
  with_norm_shape(a.width, [&]<int kRowWarps, int kChunks>() {
    using Forward = NormForward<HostBlock, kRowWarps, kChunks>;
    const int at_once = device_norm_rows_of_block(a.width);
    run_grid({(a.rows - 1) / at_once + 1, 1, 1}, kDeviceNormWarps, Forward::kSharedBytes,
             [&](HostBlock& block) { Forward(a, block).run(); });
  });
}

inline void run_norm_gradient(const DeviceNormGradient& a) {
  with_norm_shape(a.width, [&]<int kRowWarps, int kChunks>() {
    using Backward = NormBackward<HostBlock, kRowWarps, kChunks>;
    run_grid({a.parts, 1, 1}, kDeviceNormWarps, Backward::kSharedBytes,
             [&](HostBlock& block) { Backward(a, block).run(); });
  });
}

}  // namespace alibi
