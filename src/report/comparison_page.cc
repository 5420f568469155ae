// The page of a comparison.
#include "base/strings.h"
#include "report/comparison_reports.h"
#include "report/curve_plots.h"
#include "report/page_parts.h"
#include "report/template.h"

namespace alibi {
namespace {

std::string heading(const Comparison& c) {
  if (!c.title.empty()) return c.title;
  std::vector<std::string> names;
  for (const ComparedVariant& variant : c.variants) names.push_back(variant.name);
  return names.size() > 4 ? cat(c.name, ": ", names.size(), " variants") : join(names, ", ");
}

Json summary(const Comparison& c) {
  Json lines = Json::list();
  for (const std::string& line : split(comparison_summary(c), '\n'))
    if (!line.empty()) lines.push_back(unbroken(line));
  return lines;
}

// Differences from the reference; its own, where it was measured, are the line at 0.
PlotSpec difference_plot(const Comparison& c, const CurveSet& curves) {
  PlotSpec plot = curve_plot(curves, CurveFigure::kLoss);
  plot.title = "Difference from " + c.reference;
  plot.subtitle = "paired by seed; below 0 is better; " + plot.subtitle;
  plot.y_title = measure_unit(c);
  plot.shaded = PlotSpec().shaded;
  plot.levels = false;
  plot.series.clear();
  for (const ComparedVariant& variant : c.variants) {
    PlotSeries series{variant.name, "", {}};
    for (const ComparedPoint& point : variant.points) {
      if (point.verdict == Verdict::kReference && point.loss.count > 0)
        series.points.push_back({static_cast<double>(point.length), 0});
      else if (point.difference.count > 0)
        series.points.push_back({static_cast<double>(point.length), point.difference.mean,
                                 point.difference.low, point.difference.high});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

// A table for each task.
Json asked(const Comparison& c) {
  Json tasks = Json::list();
  for (const ComparedTask& task : c.tasks) {
    Json one = table_value(task_table(c, task));
    one["task"] = task.name;
    one["says"] = task_figures(c);
    one["better"] = c.measure == Measure::kLoss ? "below 0" : "above 0";
    one["figures"] = Json::list({figure_value(task_plot(c, task))});
    tasks.push_back(std::move(one));
  }
  return tasks;
}

double loss_at_the_longest(const ComparedRun& run) {
  double last = kNotMeasured;
  for (const CurvePoint& point : run.curve.points)
    if (point.applicable) last = point.loss;
  return last;
}

}  // namespace

std::string comparison_page(const Comparison& c) {
  const CurveSet curves = mean_curves(c);
  Json figures = curve_figures(curves, c.measure == Measure::kBitsPerByte);
  figures.push_back(figure_value(difference_plot(c, curves)));
  Json page = comparison_value(c);
  page.update(page_head(heading(c),
                        {"measured by alibi " + c.program_version, c.created,
                         cat(c.seeds.size(), c.seeds.size() == 1 ? " seed" : " seeds")},
                        c.command_line));
  add_scored(page, c.protocol, c.text);
  page.update(comparison_context_value(c));
  page.update({{"summary", summary(c)},
               {"figures", std::move(figures)},
               {"slopes", table_value(slopes_table(c))},
               {"visited", table_value(visited_table(c))},
               {"asked", asked(c)},
               {"unit", measure_unit(c)},
               {"notes", comparison_notes(c)},
               {"settings", c.settings}});
  for (std::size_t i = 0; i < c.runs.size(); ++i)
    (*page["runs"].as_list())[i]["last_loss"] = loss_at_the_longest(c.runs[i]);
  return fill_page("comparison.html", page);
}

}  // namespace alibi
