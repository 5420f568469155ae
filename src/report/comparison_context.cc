// What variants do with their context, means over seeds.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "report/comparison_reports.h"
#include "report/context.h"
#include "report/page_parts.h"

namespace alibi {
namespace {

std::vector<std::string> cells_of(const Estimate& e) {
  return {signed_figure(e.mean), interval_text(e.low, e.high, signed_figure)};
}

Table split_table(const Comparison& c) {
  const Align right = Align::kRight;
  Table table{{{"variant", Align::kLeft},
               {"length", right},
               {"fewer early tokens", right},
               {"95 % interval", right},
               {"longer context", right},
               {"95 % interval", right}},
              {}};
  for (const ComparedVariant& variant : c.variants) {
    for (const ComparedPoint& point : variant.points) {
      if (point.context_gain.count == 0 || point.length == variant.trained_length) continue;
      std::vector<std::string> row = {variant.name, with_commas(point.length)};
      for (const Estimate& e : {point.early_gain, point.context_gain})
        for (std::string& cell : cells_of(e)) row.push_back(std::move(cell));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table key_table(const Comparison& c) {
  const Align right = Align::kRight;
  Table table{{{"variant", Align::kLeft},
               {"length", right},
               {"perplexity of key tokens", right},
               {cat("against ", c.reference, " (nats)"), right},
               {"95 % interval", right},
               {"longer context (nats)", right},
               {"95 % interval", right}},
              {}};
  for (const ComparedVariant& variant : c.variants) {
    for (const ComparedPoint& point : variant.points) {
      if (point.key_loss.count == 0) continue;
      std::vector<std::string> row = {variant.name, with_commas(point.length),
                                      four_digits(std::exp(point.key_loss.mean))};
      for (const auto& [estimate, there] :
           {std::pair(point.key_difference, point.key_difference.count > 0),
            std::pair(point.key_context_gain, point.length != variant.trained_length)})
        for (std::string& cell : cells_of(estimate)) row.push_back(there ? std::move(cell) : "");
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

// "64 tokens, -, at least 128 tokens": what `words` says of each seed's curve; empty where it says
// nothing of any.
template <class Words>
std::string of_each_seed(const Comparison& c, const ComparedVariant& variant, const Words& words) {
  std::vector<std::string> seeds;
  bool any = false;
  for (const ComparedRun& run : c.runs) {
    if (run.variant != variant.name) continue;
    const std::string said = words(run.curve);
    any = any || !said.empty();
    seeds.push_back(said.empty() ? "-" : said);
  }
  return any ? join(seeds, ", ") : "";
}

Table useful_table(const Comparison& c) {
  Table table{{{"variant", Align::kLeft},
               {"usable length of each seed", Align::kLeft},
               {"windows of", Align::kLeft},
               {"useful context of each seed", Align::kLeft},
               {"noticed context of each seed", Align::kLeft}},
              {}};
  const auto far = [](const auto& words) {
    return [words](const Curve& curve) {
      return curve.far_context.bins.empty() ? std::string() : words(curve.far_context);
    };
  };
  for (const ComparedVariant& variant : c.variants) {
    const std::vector<std::string> cells = {
        of_each_seed(c, variant, usable_text),
        of_each_seed(c, variant, far([](const FarContext& f) { return with_commas(f.window); })),
        of_each_seed(c, variant,
                     far([](const FarContext& f) { return reach_text(useful_context(f)); })),
        of_each_seed(c, variant,
                     far([](const FarContext& f) { return reach_text(noticed_context(f)); }))};
    if (cells[0].empty() && cells[1].empty()) continue;
    table.rows.push_back({variant.name});
    table.rows.back().insert(table.rows.back().end(), cells.begin(), cells.end());
  }
  return table;
}

PlotSpec far_plot(const Comparison& c, const char* what, Estimate ComparedFarBin::*kind) {
  PlotSpec plot;
  plot.title = cat("Far context ", what);
  plot.subtitle = "rise of the loss, mean over seeds, 95 % intervals";
  plot.x_title = "tokens of true context before the target";
  plot.y_title = "nats per token";
  for (const ComparedVariant& variant : c.variants) {
    PlotSeries series{variant.name, "", {}};
    for (const ComparedFarBin& bin : variant.far_context) {
      const Estimate& e = bin.*kind;
      series.points.push_back({static_cast<double>(bin.last), e.mean, e.low, e.high});
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace

std::string comparison_context(const Comparison& c) {
  std::string text;
  const Table split = split_table(c), key = key_table(c), useful = useful_table(c);
  if (!split.rows.empty()) text += cat("gain over 1x, nats per token\n", format_table(split), "\n");
  if (!key.rows.empty())
    text +=
        cat("key tokens: ", key_tokens_text(c.key_tokens, c.text), "\n", format_table(key), "\n");
  if (!useful.rows.empty()) text += format_table(useful) + "\n";
  return text;
}

Json comparison_context_value(const Comparison& c) {
  Json figures = Json::list();
  for (const auto& [what, kind] :
       {std::pair{"swapped for text from elsewhere", &ComparedFarBin::swapped},
        std::pair{"shuffled", &ComparedFarBin::shuffled}, std::pair{"cut", &ComparedFarBin::cut}}) {
    const PlotSpec plot = far_plot(c, what, kind);
    if (!plot.series.empty()) figures.push_back(figure_value(plot));
  }
  return {{"split", table_value(split_table(c))},
          {"key_table", table_value(key_table(c))},
          {"key_rule", key_tokens_text(c.key_tokens, c.text)},
          {"useful", table_value(useful_table(c))},
          {"usable_rule", usable_rule()},
          {"reach_rule", reach_rule()},
          {"far", {{"figures", std::move(figures)}}}};
}

}  // namespace alibi
