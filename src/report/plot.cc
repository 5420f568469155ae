// curve_svg: lays a plot out from top to bottom, then draws it.
#include "report/plot.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/axis.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

constexpr double kPlotHeight = 300, kRight = 20;
constexpr double kTitleSize = 16, kLegendSize = 13, kTickSize = 12, kFootSize = 11, kRow = 19;
constexpr std::size_t kMarkersUpTo = 24;  // points of a series; more are a line without markers

struct LegendEntry {
  double x = 0, y = 0;  // y from the legend's top
  std::string label, note;
  bool note_below = false;  // else behind the label
  std::size_t style = 0;
};

struct MarkLabel {
  std::string text;
  Xy at;  // the start of the text
};

struct Layout {
  double width = 0;
  Axis x, y;
  std::vector<Tick> x_ticks, y_ticks;
  std::vector<std::string> title, subtitle, x_title, foot;  // lines
  std::vector<MarkLabel> mark_labels;
  std::vector<LegendEntry> legend;
  double top = 0, bottom = 0, legend_top = 0, height = 0;

  double room() const { return x.end - x.begin; }
};

bool drawable(const PlotPoint& point) { return std::isfinite(point.y) && point.x > 0; }
bool has_interval(const PlotPoint& point) {
  return drawable(point) && std::isfinite(point.low) && std::isfinite(point.high);
}

std::string colour_attributes(std::size_t series, const char* property) {
  const std::size_t colour = series % kSeriesColours.size();
  return cat("class=\"", property, colour, "\" ", property, "=\"", kSeriesColours[colour], "\"");
}

std::string dash_attribute(std::size_t series) {
  static constexpr const char* kDashes[] = {"", " stroke-dasharray=\"7 4\"",
                                            " stroke-dasharray=\"2 3\""};
  return kDashes[series / kSeriesColours.size() % 3];
}

// Rows of labels above the plot, each as low as it fits beside its neighbours; returns their
// height.
double place_marks(const PlotSpec& plot, Layout& layout) {
  std::vector<double> row_ends;
  double rows = 0;
  for (const PlotMark& mark : plot.marks) {
    const double left = layout.x.begin;
    const std::string text = shorten(mark.label, kTickSize, layout.width - 4 - left);
    const double width = text_width(text, kTickSize);
    const double centre = layout.x.at(mark.x);
    const double start =
        std::clamp(centre - width / 2, left, std::max(left, layout.width - 4 - width));
    std::size_t row = 0;
    while (row < row_ends.size() && start < row_ends[row] + 10) ++row;
    if (row == row_ends.size()) row_ends.push_back(0);
    row_ends[row] = start + width;
    layout.mark_labels.push_back({text, {start, static_cast<double>(row)}});
    rows = std::max(rows, static_cast<double>(row + 1));
  }
  return rows * 16;
}

std::size_t style_of(const PlotSpec& plot, std::size_t place) {
  return plot.series[place].style.value_or(place);
}

// Entries from left to right, a new row where one does not fit; returns the legend's height.
double place_legend(const PlotSpec& plot, double left, Layout& layout) {
  double x = left;
  double y = 0;
  for (const PlotSeries& series : plot.series) {
    LegendEntry entry;
    const double room = layout.room() - 34;
    entry.label = shorten(series.label, kLegendSize, room);
    if (!series.note.empty()) entry.note = shorten("(" + series.note + ")", kTickSize, room);
    const double label_width = text_width(entry.label, kLegendSize);
    const double note_width = entry.note.empty() ? 0 : text_width(entry.note, kTickSize) + 6;
    entry.note_below = label_width + note_width > room;
    const double width = 34 + (entry.note_below ? room : label_width + note_width);
    if (x > left && x + width > layout.x.end) {
      x = left;
      y += kRow;
    }
    entry.x = x;
    entry.y = y;
    entry.style = style_of(plot, layout.legend.size());
    x += width + 18;
    if (entry.note_below) y += kRow;
    layout.legend.push_back(entry);
  }
  return plot.series.empty() ? 0 : y + kRow;
}

void place_axes(const PlotSpec& plot, Layout& layout) {
  std::vector<double> lengths, lines, intervals, marks;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      if (!drawable(point)) continue;
      lengths.push_back(point.x);
      lines.push_back(point.y);
      intervals.insert(intervals.end(), {point.low, point.high});
    }
  }
  if (plot.from_zero) lines.push_back(0);
  for (const PlotMark& mark : plot.marks) marks.push_back(mark.x);
  std::vector<double> all = lengths;
  all.insert(all.end(), marks.begin(), marks.end());
  layout.x = length_axis(all);
  if (plot.levels) {
    layout.y = value_axis(framed_values(lines, intervals));
  } else {
    intervals.insert(intervals.end(), lines.begin(), lines.end());
    layout.y = value_axis(intervals);
  }
  if (!lines.empty()) layout.y_ticks = value_ticks(layout.y);
  double widest = 20;
  for (const Tick& tick : layout.y_ticks)
    widest = std::max(widest, text_width(tick.label, kTickSize));
  layout.x.begin = 32 + widest + 8;
  layout.x.end = layout.width - kRight;
  layout.x_ticks = length_ticks(layout.x, lengths, marks, kTickSize);
}

std::string foot_text(const PlotSpec& plot, const Layout& layout) {
  bool intervals = false, values = false, cut = false;
  for (const PlotSeries& series : plot.series) {
    intervals = intervals || std::any_of(series.points.begin(), series.points.end(), has_interval);
    values = values || std::any_of(series.points.begin(), series.points.end(), drawable);
    for (const PlotPoint& point : series.points)
      cut =
          cut || (has_interval(point) && (point.low < layout.y.low || point.high > layout.y.high));
  }
  if (!values) return "nothing measured";
  std::string text =
      intervals ? cat("shaded: ", plot.shaded, cut ? ", cut off at the frame; " : "; ") : "";
  if (layout.y.logarithmic) return text + "both axes logarithmic";
  return text + (layout.y.low > 0    ? "the vertical axis does not start at 0"
                 : layout.y.high < 0 ? "the vertical axis does not reach 0"
                                     : "the vertical axis holds 0");
}

double rows_of(const std::vector<std::string>& lines) { return static_cast<double>(lines.size()); }

Layout lay_out(const PlotSpec& plot, double width) {
  Layout layout;
  layout.width = width;
  place_axes(plot, layout);
  layout.title = wrapped(plot.title, kTitleSize, layout.room());
  layout.subtitle = wrapped(plot.subtitle, kTickSize, layout.room());
  layout.x_title = wrapped(plot.x_title, kLegendSize, layout.room());
  layout.foot = wrapped(foot_text(plot, layout), kFootSize, layout.room());
  const double heads = kRow * rows_of(layout.title) + 16 * rows_of(layout.subtitle);
  layout.top = 16 + heads + place_marks(plot, layout) + 8;
  layout.bottom = layout.top + kPlotHeight;
  layout.y.begin = layout.bottom;
  layout.y.end = layout.top;
  for (MarkLabel& label : layout.mark_labels) label.at.y = layout.top - 6 - label.at.y * 16;
  layout.legend_top = layout.bottom + (plot.x_unit > 0 ? 57 : 42) + 16 * rows_of(layout.x_title);
  layout.height = layout.legend_top + place_legend(plot, layout.x.begin, layout) + 6 +
                  14 * rows_of(layout.foot);
  return layout;
}

// Lines of text below each other; returns where the next one would be.
double draw_lines(const std::vector<std::string>& lines, Xy at, double row, const TextStyle& style,
                  Svg& svg) {
  for (const std::string& line : lines) {
    svg.text(at, line, style);
    at.y += row;
  }
  return at.y;
}

void draw_frame(const PlotSpec& plot, const Layout& layout, Svg& svg) {
  const double left = layout.x.begin;
  const double right = layout.x.end;
  const double below = draw_lines(layout.title, {left, 25}, kRow, {kTitleSize, "start", true}, svg);
  draw_lines(layout.subtitle, {left, below}, 16, {kTickSize, "start", false, true}, svg);
  for (const Tick& tick : layout.y_ticks) {
    const double y = layout.y.at(tick.value);
    svg.line({left, y}, {right, y}, kGridStyle);
    svg.text({left - 8, y + 4}, tick.label, {kTickSize, "end"});
  }
  for (const Tick& tick : layout.x_ticks) {
    const double x = layout.x.at(tick.value);
    svg.line({x, layout.top}, {x, layout.bottom}, kGridStyle);
    svg.line({x, layout.bottom}, {x, layout.bottom + 5}, kAxisStyle);
    svg.text({x, layout.bottom + 19}, tick.label, {kTickSize, "middle"});
    if (plot.x_unit > 0) {
      svg.text({x, layout.bottom + 34}, times(tick.value / plot.x_unit),
               {11, "middle", false, true});
    }
  }
  svg.line({left, layout.bottom}, {right, layout.bottom}, kAxisStyle);
  const double title_y = layout.bottom + (plot.x_unit > 0 ? 55 : 40);
  draw_lines(layout.x_title, {(left + right) / 2, title_y}, 16, {kLegendSize, "middle"}, svg);
  svg.text_upwards({18, (layout.top + layout.bottom) / 2}, plot.y_title, {kLegendSize, "middle"});
}

void draw_marks(const PlotSpec& plot, const Layout& layout, Svg& svg) {
  for (std::size_t i = 0; i < plot.marks.size(); ++i) {
    const double x = layout.x.at(plot.marks[i].x);
    svg.line({x, layout.mark_labels[i].at.y + 4}, {x, layout.bottom}, kMarkStyle);
  }
  for (const auto& [text, at] : layout.mark_labels) {
    // Paper behind a label hides the lines of the marks above it.
    svg.rect({at.x - 2, at.y - 11}, {text_width(text, kTickSize) + 2, 14},
             R"(class="paper" fill="#ffffff")");
    svg.text(at, text, {kTickSize});
  }
}

// Shades the interval over each unbroken stretch; a stretch of one point gets a whisker.
void draw_intervals(const PlotSeries& series, std::size_t number, double opacity,
                    const Layout& layout, Svg& svg) {
  std::vector<Xy> outline;
  std::vector<Xy> back;
  const auto flush = [&] {
    if (outline.size() == 1) {
      const std::string style = colour_attributes(number, "stroke") + " stroke-width=\"1.5\"";
      svg.line(outline[0], back[0], style);
      for (const Xy end : {outline[0], back[0]})
        svg.line({end.x - 6, end.y}, {end.x + 6, end.y}, style);
    } else if (outline.size() > 1) {
      outline.insert(outline.end(), back.rbegin(), back.rend());
      svg.polygon(outline, cat(colour_attributes(number, "fill"), " fill-opacity=\"",
                               fixed(opacity, 2), "\""));
    }
    outline.clear();
    back.clear();
  };
  for (const PlotPoint& point : series.points) {
    if (!has_interval(point)) {
      flush();
      continue;
    }
    outline.push_back({layout.x.at(point.x), layout.y.at(point.high)});
    back.push_back({layout.x.at(point.x), layout.y.at(point.low)});
  }
  flush();
}

void draw_marker(std::size_t number, Xy at, std::string_view tip, Svg& svg) {
  static constexpr const char* kShapes[] = {"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
                                            "M-3.6-3.6h7.2v7.2h-7.2z",
                                            "M0-4.8L4.6 3.4h-9.2z",
                                            "M0-5L5 0L0 5L-5 0z",
                                            "M0 4.8L4.6-3.4h-9.2z",
                                            "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
                                            "M-4.4-1.4L0-4.8L4.4-1.4L2.7 4h-5.4z"};
  svg.raw(cat("<path transform=\"translate(", coordinate(at.x), " ", coordinate(at.y), ")\" d=\"",
              kShapes[number % std::size(kShapes)], "\" ", colour_attributes(number, "fill")));
  svg.raw(tip.empty() ? "/>\n" : cat("><title>", escape_markup(tip), "</title></path>\n"));
}

void draw_series(const PlotSeries& series, std::size_t number, const Layout& layout, Svg& svg) {
  const std::string style = colour_attributes(number, "stroke") +
                            " fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\"" +
                            dash_attribute(number);
  std::vector<Xy> stretch;
  const auto flush = [&] {
    if (stretch.size() > 1) svg.polyline(stretch, style);
    stretch.clear();
  };
  for (const PlotPoint& point : series.points) {
    if (!drawable(point)) {
      flush();
      continue;
    }
    stretch.push_back({layout.x.at(point.x), layout.y.at(point.y)});
  }
  flush();
  const auto count =
      static_cast<std::size_t>(std::count_if(series.points.begin(), series.points.end(), drawable));
  if (count > kMarkersUpTo) return;
  for (const PlotPoint& point : series.points) {
    if (!drawable(point)) continue;
    std::string tip =
        cat(series.label, ", ", with_commas(std::llround(point.x)), ": ", four_digits(point.y));
    if (!point.note.empty())
      tip += cat(" (", point.note, ")");
    else if (has_interval(point))
      tip += cat(" (", four_digits(point.low), " to ", four_digits(point.high), ")");
    draw_marker(number, {layout.x.at(point.x), layout.y.at(point.y)}, tip, svg);
  }
}

void draw_legend(const Layout& layout, Svg& svg) {
  for (const LegendEntry& entry : layout.legend) {
    const double y = layout.legend_top + entry.y;
    svg.line({entry.x, y}, {entry.x + 26, y},
             colour_attributes(entry.style, "stroke") + " stroke-width=\"2\"" +
                 dash_attribute(entry.style));
    draw_marker(entry.style, {entry.x + 13, y}, "", svg);
    // One text, so that the note follows the label in whatever font there is.
    const std::string place =
        entry.note_below ? cat("x=\"", coordinate(entry.x + 34), "\" dy=\"15\"") : "dx=\"6\"";
    svg.raw(cat("<text x=\"", coordinate(entry.x + 34), "\" y=\"", coordinate(y + 4.5),
                "\" font-size=\"", kLegendSize, "\" class=\"ink\" fill=\"#1f2328\">",
                escape_markup(entry.label)));
    if (!entry.note.empty()) {
      svg.raw(cat("<tspan ", place, " font-size=\"", kTickSize,
                  "\" class=\"muted\" fill=\"#57606a\">", escape_markup(entry.note), "</tspan>"));
    }
    svg.raw("</text>\n");
  }
}

}  // namespace

std::string curve_svg(const PlotSpec& plot, double width) {
  const Layout layout = lay_out(plot, width);
  Svg svg(width, layout.height, plot.title);
  draw_frame(plot, layout, svg);
  draw_marks(plot, layout, svg);
  const double opacity = std::min(0.16, 0.5 / static_cast<double>(plot.series.size()));
  for (std::size_t i = 0; i < plot.series.size(); ++i)
    draw_intervals(plot.series[i], style_of(plot, i), opacity, layout, svg);
  for (std::size_t i = 0; i < plot.series.size(); ++i)
    draw_series(plot.series[i], style_of(plot, i), layout, svg);
  draw_legend(layout, svg);
  draw_lines(layout.foot, {layout.x.end, layout.height - 14 * rows_of(layout.foot) + 6}, 14,
             {kFootSize, "end", false, true}, svg);
  return svg.finish();
}

}  // namespace alibi
