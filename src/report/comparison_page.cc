// The page of a comparison.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/comparison_reports.h"
#include "report/curve_plots.h"
#include "report/page_parts.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

std::string heading(const Comparison& c) {
  if (!c.title.empty()) return c.title;
  std::vector<std::string> names;
  for (const ComparedVariant& variant : c.variants) names.push_back(variant.name);
  return names.size() > 4 ? cat(c.name, ": ", names.size(), " variants") : join(names, ", ");
}

std::string summary(const Comparison& c) {
  std::string html = "<div class=\"summary\">\n<ul>\n";
  for (const std::string& line : split(comparison_summary(c), '\n')) {
    if (!line.empty()) html += element("li", unbroken(line));
  }
  html += "</ul>\n</div>\n";
  return html + "<p class=\"caution\">" + escape_markup(curve_caution(c.protocol)) + "</p>\n";
}

// Differences from the reference; where it is itself is the line at 0.
std::string difference_figure(const Comparison& c) {
  PlotSpec plot = curve_plot(mean_curves(c), CurveFigure::kLoss);
  plot.title = "Difference from " + c.reference;
  plot.subtitle = "paired by seed, 95 % interval; below 0 is better; " + plot.subtitle;
  plot.y_title = measure_unit(c);
  plot.levels = false;
  plot.series.clear();
  for (const ComparedVariant& variant : c.variants) {
    PlotSeries series{variant.name, "", {}};
    for (const ComparedPoint& point : variant.points) {
      if (point.verdict == Verdict::kReference)
        series.points.push_back({static_cast<double>(point.length), 0});
      else if (point.difference.count > 0)
        series.points.push_back({static_cast<double>(point.length), point.difference.mean,
                                 point.difference.low, point.difference.high});
    }
    plot.series.push_back(std::move(series));
  }
  return figure(curve_svg(plot));
}

std::string point_row(const Comparison& c, const ComparedVariant& variant,
                      const ComparedPoint& point) {
  const bool trained = point.length == variant.trained_length;
  std::string row = trained ? "<tr class=\"trained\">" : "<tr>";
  row += table_cell(with_commas(point.length) + (trained ? " (trained)" : ""));
  row += table_cell(times(point.multiple));
  if (!point.applicable)
    return row +
           "<td colspan=\"9\" class=\"left wrap\">not applicable: " + escape_markup(point.note) +
           "</td></tr>\n";
  const bool reference = variant.name == c.reference;
  row += table_cell(four_digits(point.perplexity));
  row += table_cell(trained ? "" : percent(point.change.mean));
  row += table_cell(std::isfinite(point.loss.mean) ? fixed(point.loss.mean, 4) : "-");
  row += table_cell(std::isfinite(point.loss.deviation) ? fixed(point.loss.deviation, 4) : "-");
  row += table_cell(std::isfinite(point.bits_per_byte) ? fixed(point.bits_per_byte, 4) : "-");
  row += table_cell(reference ? "" : signed_figure(point.difference.mean));
  row += table_cell(std::isfinite(point.difference.error) ? fixed(point.difference.error, 4) : "");
  row += table_cell(
      reference ? ""
                : interval_text(point.difference.low, point.difference.high, signed_figure, " to "),
      "interval");
  return row + table_cell(verdict_name(point.verdict)) + "</tr>\n";
}

std::string tables(const Comparison& c) {
  std::string html =
      "<h2>Figures</h2>\n<p class=\"small\">Means over seeds; sd is the spread of "
      "single runs. Differences are taken seed by seed.</p>\n";
  for (const ComparedVariant& variant : c.variants) {
    html +=
        element("h3", variant.name) +
        cat("<div class=\"wide\"><table>\n<thead><tr><th>length</th><th></th><th>perplexity</th>"
            "<th>from 1x</th><th>loss</th><th>sd</th><th>bits per byte</th><th>against ",
            escape_markup(c.reference), " (", measure_unit(c),
            ")</th><th>standard error</th><th class=\"interval\">95 % "
            "interval</th><th></th></tr></thead>\n<tbody>\n");
    for (const ComparedPoint& point : variant.points) html += point_row(c, variant, point);
    html += "</tbody></table></div>\n";
  }
  for (const std::string& note : comparison_notes(c))
    html += "<p class=\"small\">" + escape_markup("Note: " + note) + "</p>\n";
  return html;
}

std::string runs(const Comparison& c) {
  std::string html =
      "<h2>Runs</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>variant</th><th>seed</th>"
      "<th>train time</th><th>train tokens/s</th><th>memory</th><th>loss at the longest "
      "length</th></tr></thead>\n<tbody>\n";
  for (const ComparedRun& run : c.runs) {
    html += "<tr>" + table_cell(run.variant) + table_cell(cat(run.seed));
    if (!run.failure.empty()) {
      html += "<td colspan=\"4\" class=\"left wrap\">failed: " + escape_markup(run.failure) +
              "</td></tr>\n";
      continue;
    }
    double last = kNotMeasured;
    for (const CurvePoint& point : run.curve.points) {
      if (point.applicable) last = point.loss;
    }
    html += table_cell(human_seconds(run.train_seconds)) +
            table_cell(human_count(run.train_tokens_per_second)) +
            table_cell(human_bytes(static_cast<double>(run.peak_memory_bytes))) +
            table_cell(std::isfinite(last) ? fixed(last, 4) : "-") + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string settings(const Comparison& c) {
  std::string html = "<h2>Variants</h2>\n";
  for (const ComparedVariant& v : c.variants) {
    html += element("h3", v.name) +
            definitions({{"Position method", v.position},
                         {"Changes", v.changes},
                         {"Trained length",
                          cat(with_commas(v.trained_length), " tokens (sequence length ",
                              with_commas(v.sequence_length), " x train_sequence_length_scaling ",
                              significant(v.train_sequence_length_scaling, 6), ")")},
                         {"Parameters", v.parameters > 0 ? with_commas(v.parameters) : ""}});
  }
  return html + "<h2>All settings of " + escape_markup(c.reference) + "</h2>\n<pre>" +
         escape_markup(c.settings) + "</pre>\n";
}

}  // namespace

std::string comparison_page(const Comparison& c) {
  std::vector<std::string> byline = {"measured by alibi " + c.program_version};
  if (!c.created.empty()) byline.push_back(c.created);
  byline.push_back(cat(c.seeds.size(), c.seeds.size() == 1 ? " seed" : " seeds"));
  std::string body = summary(c) +
                     curve_figures(mean_curves(c), c.measure == Measure::kBitsPerByte) +
                     difference_figure(c) + comparison_context_html(c) + comparison_slopes_html(c) +
                     tables(c) + runs(c) + how_measured(c.protocol, c.text) + settings(c);
  if (!c.command_line.empty())
    body += "<h2>Command</h2>\n<pre>" + escape_markup(c.command_line) + "</pre>\n";
  return whole_page(heading(c), byline, body);
}

}  // namespace alibi
