#include "report/axis.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

constexpr double kLogFactor = 5;       // a wider range is drawn logarithmically
constexpr std::size_t kOwnTicks = 14;  // more distinct lengths than this get powers of two

std::string tick_label(double value, double step) {
  const double size = std::abs(value);
  if (size >= 1e7) return significant(value, 3);
  if (step >= 1) return with_commas(std::llround(value));
  if (step < 1e-6)
    return significant(value, static_cast<int>(std::ceil(std::log10(size / step + 1))) + 1);
  return fixed(value, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
}

std::vector<Tick> linear_ticks(const Axis& axis) {
  const double rough = (axis.high - axis.low) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / power;
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  std::vector<Tick> ticks;
  // + 0.0 turns -0 into 0.
  for (double n = std::ceil(axis.low / step - 1e-9) + 0.0; n * step <= axis.high + step * 1e-9;
       ++n) {
    ticks.push_back({n * step, tick_label(n * step, step)});
  }
  return ticks;
}

std::vector<double> decade_values(const Axis& axis, std::span<const double> mantissas, int every) {
  std::vector<double> values;
  const int first = static_cast<int>(std::floor(std::log10(axis.low)));
  const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
  for (int power = first; power <= last; ++power) {
    if (power % every != 0) continue;
    for (const double mantissa : mantissas) {
      const double value = mantissa * std::pow(10, power);
      if (value >= axis.low && value <= axis.high) values.push_back(value);
    }
  }
  return values;
}

std::vector<Tick> log_ticks(const Axis& axis) {
  static constexpr double kFine[] = {1, 1.5, 2, 3, 4, 5, 6, 8};
  static constexpr double kMiddle[] = {1, 2, 5};
  static constexpr double kCoarse[] = {1};
  std::vector<double> values = decade_values(axis, kFine, 1);
  if (values.size() > 9) values = decade_values(axis, kMiddle, 1);
  for (int every = 1; values.size() > 9; ++every) values = decade_values(axis, kCoarse, every);
  std::vector<Tick> ticks;
  for (const double value : values) {
    const bool plain = value >= 1 && value < 1e7 && value == std::floor(value);
    ticks.push_back({value, plain ? with_commas(std::llround(value)) : significant(value, 3)});
  }
  return ticks;
}

std::vector<double> distinct(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::erase_if(sorted, [](double value) { return !(value > 0) || !std::isfinite(value); });
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

}  // namespace

double Axis::at(double value) const {
  const double share =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return begin + std::clamp(share, 0.0, 1.0) * (end - begin);
}

Axis value_axis(std::span<const double> values) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  Axis axis;
  if (low > high) return axis;
  axis.logarithmic = low > 0 && high > low * kLogFactor;
  if (axis.logarithmic) {
    const double room = std::pow(high / low, 0.06);
    axis.low = low / room;
    axis.high = high * room;
    return axis;
  }
  const double middle = low / 2 + high / 2;
  const double size = middle == 0 ? 1 : std::abs(middle);
  const double half = std::max((high - low) * 0.56, size * 0.01);
  axis.low = low >= 0 ? std::max(0.0, middle - half) : middle - half;
  axis.high = middle + half;
  return axis;
}

std::vector<double> framed_values(std::span<const double> lines,
                                  std::span<const double> intervals) {
  std::vector<double> values(lines.begin(), lines.end());
  values.insert(values.end(), intervals.begin(), intervals.end());
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  const auto [low, high] = std::minmax_element(lines.begin(), lines.end());
  if (low == lines.end()) return values;
  const double room = std::max(0.5 * (*high - *low), 0.15 * std::abs(*high));
  for (double& value : values) value = std::clamp(value, *low - room, *high + room);
  return values;
}

Axis length_axis(std::span<const double> values) {
  const std::vector<double> sorted = distinct(values);
  Axis axis{true, 1, 2, 0, 1};
  if (sorted.empty()) return axis;
  // A twentieth of the range, and at least a quarter of an octave, on both sides.
  const double room = std::max(std::pow(sorted.back() / sorted.front(), 0.05), std::pow(2, 0.25));
  axis.low = sorted.front() / room;
  axis.high = sorted.back() * room;
  return axis;
}

std::vector<Tick> value_ticks(const Axis& axis) {
  return axis.logarithmic ? log_ticks(axis) : linear_ticks(axis);
}

std::vector<Tick> length_ticks(const Axis& axis, std::span<const double> values,
                               std::span<const double> important, double text_size) {
  std::vector<double> own = distinct(values);
  const bool whole =
      std::all_of(own.begin(), own.end(), [](double v) { return v == std::floor(v); });
  if (own.size() > kOwnTicks || !whole) {
    own.clear();
    for (double value = std::exp2(std::ceil(std::log2(axis.low))); value <= axis.high; value *= 2) {
      own.push_back(value);
    }
  }
  std::vector<double> order(important.begin(), important.end());
  if (!own.empty()) order.insert(order.end(), {own.back(), own.front()});
  order.insert(order.end(), own.begin(), own.end());
  std::vector<Tick> ticks;
  std::vector<std::pair<double, double>> taken;
  for (const double value : order) {
    if (!(value >= axis.low && value <= axis.high)) continue;
    const std::string label = with_commas(std::llround(value));
    const double half = text_width(label, text_size) / 2 + 3;
    const double centre = axis.at(value);
    const bool free = std::none_of(taken.begin(), taken.end(), [&](const auto& span) {
      return centre + half > span.first && centre - half < span.second;
    });
    if (!free) continue;
    taken.emplace_back(centre - half, centre + half);
    ticks.push_back({value, label});
  }
  return ticks;
}

}  // namespace alibi
