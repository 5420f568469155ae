// What a comparison asked its runs.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/comparison_reports.h"
#include "report/curve_plots.h"

namespace alibi {
namespace {

// What is compared: the loss, or where tokens differ, whose nats do not compare, right answers.
std::vector<std::string> compared_cells(Measure measure, const ComparedAnswers& point) {
  const auto cells = [](const Estimate& e, auto text) {
    return std::vector<std::string>{e.count > 0 ? text(e.mean) : "",
                                    e.count > 1 ? interval_text(e.low, e.high, text) : ""};
  };
  if (measure == Measure::kBitsPerByte) return cells(point.share_difference, percent);
  std::vector<std::string> all = cells(point.loss_difference, signed_figure);
  all.insert(all.begin(), fixed(point.loss.mean, 3));
  return all;
}

std::vector<std::string> answers_row(Measure measure, const std::string& variant,
                                     const ComparedAnswers& point) {
  std::vector<std::string> row = {variant, with_commas(point.length)};
  if (point.share.count == 0) {
    row.push_back(point.note.empty() ? "not measured" : point.note);
    return row;
  }
  row.insert(
      row.end(),
      {with_commas(std::llround(point.size)), share_text(point.share.mean),
       point.share.count > 1 ? interval_text(point.share.low, point.share.high, share_text) : ""});
  const std::vector<std::string> compared = compared_cells(measure, point);
  row.insert(row.end(), compared.begin(), compared.end());
  row.push_back(verdict_name(point.verdict));
  return row;
}

}  // namespace

std::string task_figures(const Comparison& c) {
  const std::string shares = "share of answers that are right (every token the likeliest)";
  return c.measure == Measure::kLoss ? shares + ", and their loss in nats per token" : shares;
}

Table task_table(const Comparison& c, const ComparedTask& task) {
  const Align right = Align::kRight;
  Table table{{{"variant", Align::kLeft},
               {"length", right},
               {task.unit.empty() ? "size" : task.unit, right},
               {"right", right},
               {"95 % interval", right}},
              {}};
  const bool by_loss = c.measure == Measure::kLoss;
  if (by_loss) table.columns.push_back({"loss", right});
  table.columns.push_back({cat(by_loss ? "loss" : "right", " against ", c.reference), right});
  table.columns.push_back({"95 % interval", right});
  table.columns.push_back({"", Align::kLeft});
  for (std::size_t i = 0; i < c.variants.size(); ++i)
    for (const ComparedAnswers& point : task.variants[i])
      table.rows.push_back(answers_row(c.measure, c.variants[i].name, point));
  for (std::vector<std::string>& row : table.rows) row.resize(table.columns.size());
  return table;
}

PlotSpec task_plot(const Comparison& c, const ComparedTask& task) {
  PlotSpec plot = curve_plot(mean_curves(c), CurveFigure::kLoss);  // its lengths and marks
  plot.title = cat("Task ", task.name, ": right answers against length");
  plot.subtitle = cat("means over ", c.seeds.size(), c.seeds.size() == 1 ? " seed" : " seeds",
                      ", where they were measured, and over the depths that are asked for");
  plot.x_title = "length of the text (tokens)";
  plot.y_title = "right answers (%)";
  plot.shaded = PlotSpec().shaded;
  plot.levels = false;
  plot.from_zero = true;
  plot.series.clear();
  const auto percent = [](double share) { return 100 * std::clamp(share, 0.0, 1.0); };
  for (std::size_t i = 0; i < c.variants.size(); ++i) {
    PlotSeries series{c.variants[i].name, "", {}};
    for (const ComparedAnswers& point : task.variants[i])
      if (point.share.count > 0)
        series.points.push_back({static_cast<double>(point.length), percent(point.share.mean),
                                 percent(point.share.low), percent(point.share.high)});
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string comparison_tasks(const Comparison& c) {
  std::string text;
  for (const ComparedTask& task : c.tasks)
    text += cat("task ", task.name, ": ", task_figures(c), "; means over seeds (and depths)\n",
                format_table(task_table(c, task)), "\n");
  return text;
}

}  // namespace alibi
