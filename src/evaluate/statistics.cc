#include "evaluate/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "base/random.h"

namespace alibi {
namespace {

// Sums and sizes of consecutive blocks.
struct Blocks {
  std::vector<double> sums, sizes;
};

Blocks blocks_of(std::span<const float> losses, std::span<const std::int64_t> ends,
                 std::span<const std::uint8_t> kept) {
  Blocks blocks{std::vector<double>(ends.size()), std::vector<double>(ends.size())};
  std::size_t at = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    while (static_cast<std::int64_t>(i) >= ends[at]) ++at;
    if (!kept.empty() && kept[i] == 0) continue;
    blocks.sums[at] += losses[i];
    blocks.sizes[at] += 1;
  }
  return blocks;
}

// P(-t < T < t) for whole degrees of freedom: the finite sums of Abramowitz and Stegun 26.7.3-4.
double student_share(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  double term = degrees % 2 == 0 ? 1 : cosine, sum = degrees == 1 ? 0 : term;
  for (int i = degrees % 2 == 0 ? 2 : 3; i <= degrees - 2; i += 2) {
    term *= cosine * cosine * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  if (degrees % 2 == 0) return std::sin(angle) * sum;
  return 2 / std::numbers::pi * (angle + std::sin(angle) * sum);
}

constexpr double kNormal95 = 1.959964;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

}  // namespace

double mean_of(std::span<const double> values) {
  return sum_of(values) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return kNone;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::vector<std::pair<std::int64_t, std::int64_t>> doubling_spans(std::int64_t last) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (std::int64_t first = 1; first <= last; first = spans.back().second + 1)
    spans.emplace_back(first, first == 1 ? 1 : std::min(last, 2 * (first - 1)));
  return spans;
}

double student_t_95(int degrees) {
  ensure(degrees >= 1, "a spread has a degree of freedom");
  double low = 1.9, high = 13;  // 1.960 for many, 12.706 for one
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (student_share(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return high;
}

std::vector<std::int64_t> equal_blocks(std::int64_t losses, std::int64_t block) {
  ensure(losses > 0 && block > 0, "blocks have losses");
  std::vector<std::int64_t> ends;
  for (std::int64_t end = block; end <= losses; end += block) ends.push_back(end);
  if (ends.empty()) ends.push_back(losses);
  ends.back() = losses;
  return ends;
}

std::vector<double> bootstrap_means(std::span<const float> losses,
                                    std::span<const std::int64_t> block_ends,
                                    std::span<const std::uint8_t> kept) {
  ensure(!losses.empty() && !block_ends.empty() && block_ends.back() == std::ssize(losses),
         "a bootstrap has losses and blocks of all of them");
  ensure(kept.empty() || kept.size() == losses.size(), "each loss is said to count or not");
  const Blocks blocks = blocks_of(losses, block_ends, kept);
  if (std::ssize(blocks.sums) < kLeastBlocks) return {};
  const auto count = static_cast<double>(blocks.sums.size());
  std::vector<double> means;
  for (int draw = 0; draw < kBootstrapDraws; ++draw) {
    const RandomKey key = RandomKey{0}.with("bootstrap").with(static_cast<std::uint64_t>(draw));
    double sum = 0, size = 0;
    for (std::size_t i = 0; i < blocks.sums.size(); ++i) {
      const auto chosen = static_cast<std::size_t>(uniform(key, i) * count);
      sum += blocks.sums[chosen];
      size += blocks.sizes[chosen];
    }
    means.push_back(sum / size);
  }
  const double centre = sum_of(blocks.sums) / sum_of(blocks.sizes);
  const double wider = student_t_95(static_cast<int>(blocks.sums.size()) - 1) / kNormal95 *
                       std::sqrt(count / (count - 1));
  for (double& mean : means) mean = centre + wider * (mean - centre);
  return means;
}

std::vector<double> bootstrap_means(std::span<const float> losses, std::int64_t block) {
  return bootstrap_means(losses, equal_blocks(std::ssize(losses), block));
}

std::vector<Interval> joint_95(const std::vector<double>& centres,
                               const std::vector<std::vector<double>>& draws) {
  ensure(centres.size() == draws.size(), "a centre for each row of draws");
  std::vector<double> deviations, largest;
  for (const std::vector<double>& row : draws) {
    deviations.push_back(deviation_of(row));
    largest.resize(std::max(largest.size(), row.size()));
  }
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double mean = mean_of(draws[i]);
    for (std::size_t d = 0; d < draws[i].size() && deviations[i] > 0; ++d)
      largest[d] = std::max(largest[d], std::abs(draws[i][d] - mean) / deviations[i]);
  }
  std::sort(largest.begin(), largest.end());
  const double reach = largest.empty() ? kNone : percentile(largest, 0.95);
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double wide = draws[i].empty() ? kNone : reach * deviations[i];
    intervals.push_back({centres[i] - wide, centres[i] + wide});
  }
  return intervals;
}

Interval wilson_95(std::int64_t hits, std::int64_t trials) {
  ensure(trials > 0 && hits >= 0 && hits <= trials, "a share has trials");
  constexpr double z = kNormal95;
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(hits) / n, shrunk = 1 + z * z / n;
  const double centre = (p + z * z / (2 * n)) / shrunk;
  const double reach = z / shrunk * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {std::max(0.0, centre - reach), std::min(1.0, centre + reach)};
}

Interval middle_95(std::vector<double> values) {
  if (values.empty()) return {kNone, kNone};
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.025), percentile(values, 0.975)};
}

Interval nearest_95(std::vector<double> values) {
  if (values.empty()) return {kNone, kNone};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::lround(share * double(values.size() - 1)))];
  };
  return {at(0.025), at(0.975)};
}

}  // namespace alibi
