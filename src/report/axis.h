// Axes of a plot: from values to pixels, and where the ticks stand.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace alibi {

struct Axis {
  bool logarithmic = false;
  double low = 0, high = 1;   // values at the two ends; low < high, both > 0 when logarithmic
  double begin = 0, end = 1;  // pixels at the two ends
  double at(double value) const;
};

struct Tick {
  double value = 0;
  std::string label;
};

// An axis of values that shows small differences: it starts where the data do, not at 0, spans at
// least 2 % of their size (noise is not blown up), and is logarithmic when they span more than a
// factor of five. Values that are not finite are passed over; without any the axis is 0 .. 1.
Axis value_axis(std::span<const double> values);

// What an axis of levels has to hold of intervals, lest wide ones leave the lines no room: within
// half the lines' span of them, or 15 % of the highest. The lines' own values are among the result.
std::vector<double> framed_values(std::span<const double> lines, std::span<const double> intervals);

// A logarithmic axis over positions or lengths (> 0) with a little room at both ends.
Axis length_axis(std::span<const double> values);

// Between about three and nine ticks at round values.
std::vector<Tick> value_ticks(const Axis& axis);
// Ticks at the lengths themselves when they are few and whole, else at powers of two; those whose
// labels would come closer than they are wide are left out, `important` ones and the two ends last.
std::vector<Tick> length_ticks(const Axis& axis, std::span<const double> values,
                               std::span<const double> important, double text_size);

}  // namespace alibi
