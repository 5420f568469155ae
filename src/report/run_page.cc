#include "report/run_page.h"

#include <cmath>

#include "base/strings.h"
#include "report/page_parts.h"
#include "report/plot.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

constexpr int kRefreshSeconds = 10;

PlotSpec plot_over_tokens(const std::string& title, const std::string& y_title) {
  PlotSpec plot;
  plot.title = title;
  plot.x_title = "tokens trained on";
  plot.y_title = y_title;
  return plot;
}

std::string picture(const std::string& title, const std::string& y_title, const ThinnedLine& line) {
  PlotSpec plot = plot_over_tokens(title, y_title);
  plot.series.push_back({title, "", line.points()});
  return plot.series[0].points.empty() ? "" : figure(curve_svg(plot));
}

std::string loss_picture(const RunHistory& history) {
  PlotSpec plot = plot_over_tokens("Loss", "nats per token");
  plot.series.push_back({"training", "", history.loss.points()});
  PlotSeries validation{"validation", "", history.validation_loss.points()};
  if (!validation.points.empty()) plot.series.push_back(std::move(validation));
  return plot.series[0].points.empty() ? "" : figure(curve_svg(plot));
}

std::string state(const RunPage& page, const RunHistory& history) {
  Pairs pairs;
  if (history.last_step) {
    const StepRecord& last = *history.last_step;
    const double share = static_cast<double>(last.tokens) / static_cast<double>(page.total_tokens);
    pairs.emplace_back(
        "trained on",
        cat(with_commas(last.tokens), " of ", with_commas(page.total_tokens), " tokens (",
            fixed(100 * share, 1), " %), step ", with_commas(last.step)));
    pairs.emplace_back("loss", four_digits(last.loss));
    pairs.emplace_back("tokens/s", four_digits(tokens_per_second(last)));
  }
  if (history.last_validation) {
    const ValidationRecord& last = *history.last_validation;
    pairs.emplace_back("validation",
                       cat("loss ", four_digits(last.validation_loss), ", perplexity ",
                           four_digits(std::exp(last.validation_loss))));
    if (last.peak_memory_bytes) {
      pairs.emplace_back("peak memory", human_bytes(static_cast<double>(*last.peak_memory_bytes)));
    }
  }
  if (history.saved_step)
    pairs.emplace_back("newest checkpoint", "step " + with_commas(*history.saved_step));
  if (history.skipped_steps > 0)
    pairs.emplace_back("skipped steps", std::to_string(history.skipped_steps));
  return definitions(pairs);
}

std::string samples_part(const RunPage& page) {
  if (page.samples.empty()) return "";
  std::string html = "<h2>What it writes</h2>\n";
  for (const std::string& sample : page.samples) html += element("pre", sample);
  return html;
}

}  // namespace

std::string run_page(const RunPage& page, const RunHistory& history) {
  std::string body = state(page, history) + loss_picture(history);
  body += picture("Learning rate", "learning rate", history.learning_rate);
  body += picture("Gradient norm", "before clipping", history.gradient_norm);
  body += picture("Throughput", "tokens/s", history.tokens_per_second);
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
