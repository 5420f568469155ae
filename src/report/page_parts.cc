#include "report/page_parts.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/context.h"
#include "report/curve_plots.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

// Without curves that are a single point.
CurveSet with_lines(CurveSet set) {
  std::erase_if(set.curves, [](const Curve& curve) {
    return std::count_if(curve.points.begin(), curve.points.end(), measured) < 2;
  });
  return set;
}

double highest(const Curve& curve) {
  double most = 0;
  for (const CurvePoint& point : curve.points)
    if (measured(point)) most = std::max(most, point.perplexity);
  return most;
}

double lowest(const CurveSet& set) {
  double least = INFINITY;
  for (const Curve& curve : set.curves)
    for (const CurvePoint& point : curve.points)
      if (measured(point)) least = std::min(least, point.perplexity);
  return least;
}

// A curve looks the same in the close-up as in the whole picture.
void take_styles(const PlotSpec& whole, PlotSpec& part) {
  for (PlotSeries& series : part.series) {
    const auto same = std::ranges::find(whole.series, series.label, &PlotSeries::label);
    if (same != whole.series.end())
      series.style = static_cast<std::size_t>(same - whole.series.begin());
  }
}

}  // namespace

std::string element(const char* tag, const std::string& text) {
  return cat("<", tag, ">", escape_markup(text), "</", tag, ">\n");
}

std::string unbroken(std::string text) {
  for (std::size_t at; (at = text.find(" %")) != std::string::npos;)
    text.replace(at, 1, "\xc2\xa0");
  return text;
}

std::string table_cell(const std::string& text, const char* kind) {
  return kind == nullptr ? "<td>" + escape_markup(text) + "</td>"
                         : cat("<td class=\"", kind, "\">", escape_markup(text), "</td>");
}

std::string html_table(const Table& table) {
  std::string html = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const TableColumn& column : table.columns)
    html += cat("<th>", escape_markup(column.title), "</th>");
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr>";
    for (const std::string& cell : row) html += table_cell(cell);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string figure(const std::string& svg) { return "<figure>\n" + svg + "</figure>\n"; }

std::string definitions(const Pairs& pairs) {
  std::string text = "<dl>\n";
  for (const auto& [name, value] : pairs) {
    if (!value.empty())
      text += cat("<dt>", escape_markup(name), "</dt><dd>", escape_markup(value), "</dd>\n");
  }
  return text + "</dl>\n";
}

std::string whole_page(const std::string& heading, const std::vector<std::string>& byline,
                       const std::string& body_html, const std::string& head_html) {
  return cat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      head_html, element("title", heading), "<style>", kPageStyle,
      "</style>\n</head>\n<body>\n<main>\n", element("h1", heading), "<p class=\"byline\">",
      escape_markup(join(byline, "; ")), "</p>\n", body_html, "</main>\n</body>\n</html>\n");
}

std::string curve_figures(const CurveSet& set, bool bits_per_byte) {
  if (bits_per_byte) return figure(curve_svg(curve_plot(set, CurveFigure::kBitsPerByte)));
  const PlotSpec all = curve_plot(set, CurveFigure::kPerplexity);
  std::string text = figure(curve_svg(all));
  // Beside a line that explodes, those that never exceed 1.25 times the lowest of all are flat:
  // they get a picture of their own.
  CurveSet close = with_lines(set);
  const auto exploding = std::erase_if(
      close.curves, [&](const Curve& curve) { return highest(curve) > 1.25 * lowest(set); });
  if (!close.curves.empty() && exploding > 0) {
    PlotSpec plot = curve_plot(close, CurveFigure::kPerplexity);
    plot.title = "Perplexity of the flat curves, close up";
    take_styles(all, plot);
    plot.subtitle = "within 1.25x of the lowest; " + plot.subtitle;
    text += figure(curve_svg(plot));
  }
  return text + figure(curve_svg(curve_plot(set, CurveFigure::kLoss)));
}

std::string context_parts(const Curve& curve) {
  std::string html;
  if (has_split(curve)) {
    html += element("h4", "Where the gain comes from") +
            element("p",
                    "Gain over 1x in nats per token: what comes from fewer targets with a "
                    "short context, and what from the longer context itself.") +
            html_table(split_table(curve));
  }
  if (curve.far_context.window == 0) return html;
  std::string words = useful_context_words(curve.far_context);
  words[0] = 'U';
  html += element("h4", "How far it looks") + element("p", unbroken(words + "."));
  if (curve.far_context.bins.empty()) return html;
  return html + figure(curve_svg(far_context_plot(curve))) +
         html_table(far_context_table(curve.far_context));
}

std::string how_measured(const CurveProtocol& protocol, const CurveText& text) {
  std::string html = "<h2>How it was measured</h2>\n";
  html +=
      definitions({{"Protocol", protocol_name(protocol)},
                   {"Stride", protocol.stride > 0 ? with_commas(protocol.stride) + " tokens" : ""},
                   {"Sinks", protocol.sinks > 0 ? with_commas(protocol.sinks) + " tokens" : ""},
                   {"Description", protocol.description},
                   {"Treatment", protocol.treatment},
                   {"Documents", protocol.document_borders},
                   {"Precision", protocol.precision},
                   {"Device", protocol.device},
                   {"Attention kernel", protocol.kernel}});
  html += element("h3", "Text");
  html += definitions({{"Files", join(text.files, ", ")},
                       {"Size", text.bytes > 0 ? human_bytes(static_cast<double>(text.bytes)) : ""},
                       {"Targets scored", with_commas(text.tokens_scored) + scored_where(protocol)},
                       {"Words", text.words > 0 ? with_commas(text.words) : ""},
                       {"Not scored", with_commas(text.tokens_cut_off) + " tokens"},
                       {"Selection", text.selection},
                       {"SHA-256", text.sha256}});
  return html;
}

}  // namespace alibi
