#include "report/page.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "report/curve_plots.h"
#include "report/page_parts.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

std::string default_title(const CurveSet& set) {
  std::vector<std::string> names;
  for (const Curve& curve : set.curves) names.push_back(curve.label());
  if (names.empty() || names.size() > 4) return "Perplexity beyond the trained length";
  return "Perplexity beyond the trained length: " + join(names, ", ");
}

std::string summary(const CurveSet& set) {
  std::string text = "<div class=\"summary\">\n";
  if (set.curves.empty()) text += element("p", "No curve was measured.");
  if (set.curves.size() == 1) text += element("p", unbroken(curve_summary(set.curves.front())));
  if (set.curves.size() > 1) {
    text += "<ul>\n";
    for (const Curve& curve : set.curves) text += element("li", unbroken(curve_summary(curve)));
    text += "</ul>\n";
  }
  return text + "</div>\n<p class=\"caution\">" + escape_markup(curve_caution(set.protocol)) +
         "</p>\n";
}

std::string pictures(const CurveSet& set) {
  std::string text;
  text += curve_figures(set);
  bool headed = false;
  for (const Curve& curve : set.curves) {
    if (curve.loss_by_position.empty()) continue;
    if (!headed) {
      text +=
          "<h2>Loss by position</h2>\n<p class=\"small\">Each line is one length of window. Where "
          "the lines "
          "of longer windows go on falling to the right of the trained length, the added context "
          "is used; "
          "where they rise, it does harm.</p>\n";
    }
    headed = true;
    text += figure(curve_svg(position_plot(set, curve)));
  }
  return text;
}

std::string length_cell(const Curve& curve, std::int64_t length) {
  const char* mark = length == curve.trained_length    ? " (trained)"
                     : length == curve.sequence_length ? " (L)"
                                                       : "";
  return with_commas(length) + mark;
}

constexpr const char* kTableHead =
    "<thead><tr><th>length</th><th></th><th>perplexity</th><th class=\"interval\">95 % "
    "interval</th>"
    "<th>change from 1x</th><th class=\"interval\">95 % interval</th><th>loss</th><th>bits per "
    "byte</th><th>per word</th>"
    "<th>targets</th><th>tokens/s</th><th>memory</th></tr></thead>\n";

std::string table_row(const Curve& curve, const CurvePoint& point) {
  const bool trained = point.length == curve.trained_length;
  std::string row = trained ? "<tr class=\"trained\">" : "<tr>";
  row += table_cell(length_cell(curve, point.length)) + table_cell(times(point.multiple));
  if (!point.applicable) {
    const std::string why = point.note.empty() ? "" : ": " + point.note;
    return cat(row, "<td colspan=\"10\" class=\"left wrap\">not applicable", escape_markup(why),
               "</td></tr>\n");
  }
  row += table_cell(four_digits(point.perplexity)) +
         table_cell(interval_text(point.perplexity_low, point.perplexity_high, four_digits, " to "),
                    "interval");
  row +=
      table_cell(trained ? "" : percent(point.change_from_1x)) +
      table_cell(trained ? "" : interval_text(point.change_low, point.change_high, percent, " to "),
                 "interval");
  row += table_cell(std::isfinite(point.loss) ? fixed(point.loss, 4) : "-");
  row += table_cell(std::isfinite(point.bits_per_byte) ? fixed(point.bits_per_byte, 4) : "-");
  row += table_cell(four_digits(point.word_perplexity));
  row += table_cell(point.targets > 0 ? with_commas(point.targets) : "-");
  row += table_cell(std::isfinite(point.tokens_per_second) ? human_count(point.tokens_per_second)
                                                           : "-");
  row += table_cell(point.peak_memory_bytes > 0
                        ? human_bytes(static_cast<double>(point.peak_memory_bytes))
                        : "-");
  return row + "</tr>\n";
}

std::string tables(const CurveSet& set) {
  std::string text = "<h2>Figures</h2>\n";
  for (const Curve& curve : set.curves) {
    text += element("h3", curve.label());
    text += cat("<div class=\"wide\"><table>\n", kTableHead, "<tbody>\n");
    for (const CurvePoint& point : curve.points) {
      text += table_row(curve, point);
      if (point.applicable && !point.note.empty()) {
        text += cat("<tr><td></td><td></td><td colspan=\"10\" class=\"left wrap small\">",
                    escape_markup(point.note), "</td></tr>\n");
      }
    }
    if (curve.points.empty())
      text += "<tr><td colspan=\"12\" class=\"left\">no lengths measured</td></tr>\n";
    text += "</tbody></table></div>\n" + context_parts(curve);
  }
  return text;
}

std::string models(const CurveSet& set) {
  std::string text = "<h2>Models</h2>\n";
  for (const Curve& curve : set.curves) {
    text += element("h3", curve.label());
    const std::string trained =
        cat(with_commas(curve.trained_length), " tokens (sequence length ",
            with_commas(curve.sequence_length), " x train_sequence_length_scaling ",
            significant(curve.train_sequence_length_scaling, 6), ")");
    text += definitions({{"Position method", curve.position},
                         {"Trained length", curve.trained_length > 0 ? trained : ""},
                         {"Parameters", curve.parameters > 0 ? with_commas(curve.parameters) : ""},
                         {"Step", curve.step > 0 ? with_commas(curve.step) : ""},
                         {"Checkpoint", curve.checkpoint},
                         {"SHA-256", curve.checkpoint_sha256}});
  }
  return text;
}

}  // namespace

std::string curve_page(const CurveSet& set, const std::string& title) {
  const std::string heading = title.empty() ? default_title(set) : title;
  std::vector<std::string> byline = {"measured by alibi " + set.program_version};
  if (!set.created.empty()) byline.push_back(set.created);
  if (const std::string protocol = protocol_line(set); !protocol.empty())
    byline.push_back(protocol);
  std::string body = summary(set) + pictures(set) + tables(set) +
                     how_measured(set.protocol, set.text) + models(set);
  if (!set.command_line.empty())
    body += cat("<h2>Command</h2>\n<pre>", escape_markup(set.command_line), "</pre>\n");
  return whole_page(heading, byline, body);
}

}  // namespace alibi
