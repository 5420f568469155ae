#include "report/page_parts.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/curve_plots.h"

namespace alibi {
namespace {

constexpr double kBeside = 1.25;  // curves within this factor of the lowest are flat

// A perplexity that is no number any more is higher than all others.
double highest(const Curve& curve) {
  double most = 0;
  for (const CurvePoint& point : curve.points)
    if (point.applicable && !point.out_of_memory)
      most = std::max(most, measured(point) ? point.perplexity : INFINITY);
  return most;
}

double lowest(const CurveSet& set) {
  double least = INFINITY;
  for (const Curve& curve : set.curves)
    for (const CurvePoint& point : curve.points)
      if (measured(point)) least = std::min(least, point.perplexity);
  return least;
}

// The flat curves of a set in which others are not, as they look in `all`; without curves where
// there is nothing to see closer.
PlotSpec close_up(const CurveSet& set, const PlotSpec& all) {
  CurveSet close = set;
  std::erase_if(close.curves, [](const Curve& curve) {  // a single point
    return std::count_if(curve.points.begin(), curve.points.end(), measured) < 2;
  });
  const auto exploding = std::erase_if(
      close.curves, [&](const Curve& curve) { return highest(curve) > kBeside * lowest(set); });
  if (exploding == 0) close.curves.clear();
  PlotSpec plot = curve_plot(close, CurveFigure::kPerplexity);
  plot.title = "Perplexity of the flat curves, close up";
  plot.subtitle = cat("within ", kBeside, "x of the lowest; ", plot.subtitle);
  for (PlotSeries& series : plot.series) {
    const auto same = std::ranges::find(all.series, series.label, &PlotSeries::label);
    series.style = static_cast<std::size_t>(same - all.series.begin());
  }
  return plot;
}

}  // namespace

Json page_head(const std::string& heading, const std::vector<std::string>& byline,
               const std::string& command_line, int refresh) {
  std::vector<std::string> parts = byline;
  std::erase(parts, "");
  return {{"heading", heading},
          {"byline", join(parts, "; ")},
          {"command_line", command_line},
          {"refresh", refresh}};
}

Json figure_value(const PlotSpec& plot) {
  return {{"broad", curve_svg(plot)}, {"narrow", curve_svg(plot, kNarrowPlot)}};
}

Json table_value(const Table& table) {
  if (table.rows.empty()) return nullptr;
  Json columns = Json::list(), rows = Json::list();
  for (const TableColumn& column : table.columns) columns.push_back(column.title);
  for (const std::vector<std::string>& row : table.rows) rows.push_back(row);
  return {{"columns", columns}, {"rows", rows}};
}

Json pairs_value(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json list = Json::list();
  for (const auto& [name, value] : pairs) list.push_back({{"name", name}, {"value", value}});
  return {{"pairs", std::move(list)}};
}

std::string unbroken(std::string text) {
  for (std::size_t at; (at = text.find(" %")) != std::string::npos;)
    text.replace(at, 1, "\xc2\xa0");
  return text;
}

Json curve_figures(const CurveSet& set, bool bits_per_byte) {
  if (bits_per_byte) return Json::list({figure_value(curve_plot(set, CurveFigure::kBitsPerByte))});
  const PlotSpec all = curve_plot(set, CurveFigure::kPerplexity);
  Json figures = Json::list({figure_value(all)});
  const PlotSpec close = close_up(set, all);
  if (!close.series.empty()) figures.push_back(figure_value(close));
  figures.push_back(figure_value(curve_plot(set, CurveFigure::kLoss)));
  return figures;
}

void add_scored(Json& page, const CurveProtocol& protocol, const CurveText& text) {
  page["caution"] = curve_caution(protocol);
  page["text"].update(
      {{"file_names", join(text.files, ", ")}, {"scored_where", scored_where(protocol)}});
}

}  // namespace alibi
