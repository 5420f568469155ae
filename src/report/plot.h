// Pictures as SVG: curves over a logarithmic axis of length or position, and attention biases.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace alibi {

struct PlotPoint {
  double x = 0;
  double y = 0;  // a point that is not finite breaks the line
  // 95 % interval, drawn where both are finite
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  // What its tip says beside y; empty: the interval.
  std::string note = {};
};

struct PlotSeries {
  std::string label;
  std::string note;               // follows the label in the legend: "not applicable beyond 512"
  std::vector<PlotPoint> points;  // by rising x
  // Colour, dashes and marker: its place in the plot unless given.
  std::optional<std::size_t> style = std::nullopt;
};

struct PlotMark {
  double x = 0;
  std::string label;  // "trained length 128"
};

struct PlotSpec {
  std::string title, subtitle;  // the subtitle names the protocol
  std::string x_title, y_title;
  double x_unit = 0;  // > 0: ticks also say x / x_unit as "4x" (the trained length)
  std::vector<PlotMark> marks;
  std::vector<PlotSeries> series;
  bool levels = false;     // not differences: intervals that would flatten the lines are cut off
  bool from_zero = false;  // the y axis holds 0, and so is linear
  std::string shaded = "95 % interval";
};

inline constexpr double kBroadPlot = 760, kNarrowPlot = 360;  // px: a page, a phone

// Any number of series (colours repeat after seven, with another dash). The y axis
// need not start at 0 and is logarithmic beyond a factor of five; a line below the plot says so.
std::string curve_svg(const PlotSpec& plot, double width = kBroadPlot);

// ALiBi's bias, -slope x distance: one square per head, queries downwards, keys to the right,
// future keys blank; one colour scale for all heads, logarithmic in the size of the bias, so that
// gentle slopes show beside steep ones. Above 128 tokens (64 with more than 16 heads) a cell stands
// for several tokens, and the picture says so.
std::string bias_svg(const std::vector<double>& slopes, std::int64_t length);

}  // namespace alibi
