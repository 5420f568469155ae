#include "report/run_page.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/strings.h"
#include "report/page_parts.h"
#include "report/plot.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

constexpr int kRefreshSeconds = 10;
constexpr std::size_t kMostPoints = 150;  // of a line; more are averaged in groups side by side

using Figure = std::function<double(const StepRecord&)>;

std::vector<PlotPoint> averaged(const std::vector<StepRecord>& steps, const Figure& figure) {
  const std::size_t group = (steps.size() + kMostPoints - 1) / kMostPoints;
  std::vector<PlotPoint> points;
  for (std::size_t first = 0; first < steps.size(); first += group) {
    const std::size_t last = std::min(first + group, steps.size());
    double sum = 0;
    int count = 0;
    for (std::size_t i = first; i < last; ++i) {
      const double value = figure(steps[i]);
      if (!std::isfinite(value)) continue;
      sum += value;
      ++count;
    }
    if (count > 0) points.push_back({static_cast<double>(steps[last - 1].tokens), sum / count});
  }
  return points;
}

PlotSpec plot_over_tokens(const std::string& title, const std::string& y_title) {
  PlotSpec plot;
  plot.title = title;
  plot.x_title = "tokens trained on";
  plot.y_title = y_title;
  return plot;
}

std::string picture(const std::string& title, const std::string& y_title, const RunLog& log,
                    const Figure& value) {
  PlotSpec plot = plot_over_tokens(title, y_title);
  plot.series.push_back({title, "", averaged(log.steps, value)});
  return plot.series[0].points.empty() ? "" : figure(curve_svg(plot));
}

std::string loss_picture(const RunLog& log) {
  PlotSpec plot = plot_over_tokens("Loss", "nats per token");
  plot.series.push_back(
      {"training", "", averaged(log.steps, [](const StepRecord& s) { return s.loss; })});
  PlotSeries validation{"validation", "", {}};
  for (const ValidationRecord& v : log.validations)
    validation.points.push_back({static_cast<double>(v.tokens), v.validation_loss});
  if (!validation.points.empty()) plot.series.push_back(std::move(validation));
  return plot.series[0].points.empty() ? "" : figure(curve_svg(plot));
}

std::string state(const RunPage& page, const RunLog& log) {
  Pairs pairs;
  if (!log.steps.empty()) {
    const StepRecord& last = log.steps.back();
    const double share = static_cast<double>(last.tokens) / static_cast<double>(page.total_tokens);
    pairs.emplace_back(
        "trained on",
        cat(with_commas(last.tokens), " of ", with_commas(page.total_tokens), " tokens (",
            fixed(100 * share, 1), " %), step ", with_commas(last.step)));
    pairs.emplace_back("loss", four_digits(last.loss));
    pairs.emplace_back("tokens/s", four_digits(tokens_per_second(last)));
  }
  if (!log.validations.empty()) {
    const ValidationRecord& last = log.validations.back();
    pairs.emplace_back("validation",
                       cat("loss ", four_digits(last.validation_loss), ", perplexity ",
                           four_digits(std::exp(last.validation_loss))));
    if (last.peak_memory_bytes) {
      pairs.emplace_back("peak memory", human_bytes(static_cast<double>(*last.peak_memory_bytes)));
    }
  }
  const auto skipped = std::count_if(log.steps.begin(), log.steps.end(),
                                     [](const StepRecord& s) { return !s.skipped.empty(); });
  if (skipped > 0) pairs.emplace_back("skipped steps", std::to_string(skipped));
  return definitions(pairs);
}

std::string samples_part(const RunPage& page) {
  if (page.samples.empty()) return "";
  std::string html = "<h2>What it writes</h2>\n";
  for (const std::string& sample : page.samples) html += element("pre", sample);
  return html;
}

}  // namespace

std::string run_page(const RunPage& page, const RunLog& log) {
  std::string body = state(page, log) + loss_picture(log);
  body += picture("Learning rate", "learning rate", log,
                  [](const StepRecord& s) { return s.learning_rate; });
  body += picture("Gradient norm", "before clipping", log,
                  [](const StepRecord& s) { return s.gradient_norm; });
  body += picture("Throughput", "tokens/s", log, tokens_per_second);
  body += samples_part(page);
  body += "<h2>Settings</h2>\n" + definitions(page.settings) +
          "<details><summary>config.json</summary>" + element("pre", page.config_json) +
          "</details>\n";
  const std::string head =
      page.alive ? cat("<meta http-equiv=\"refresh\" content=\"", kRefreshSeconds, "\">\n") : "";
  const std::string life =
      page.alive ? cat("running when this was written; this page reads itself again every ",
                       kRefreshSeconds, " s")
                 : "not running";
  return whole_page(page.name, {"updated " + page.updated, life}, body, head);
}

}  // namespace alibi
