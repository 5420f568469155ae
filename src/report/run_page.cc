#include "report/run_page.h"

#include <cmath>

#include "base/strings.h"
#include "report/page_parts.h"
#include "report/template.h"

namespace alibi {
namespace {

constexpr int kRefreshSeconds = 10;

// A picture over tokens of the lines that have points.
void add_figure(Json& figures, const std::string& title, const std::string& y_title,
                std::vector<PlotSeries> lines) {
  std::erase_if(lines, [](const PlotSeries& line) { return line.points.empty(); });
  if (lines.empty()) return;
  PlotSpec plot;
  plot.title = title;
  plot.x_title = "tokens trained on";
  plot.y_title = y_title;
  plot.series = std::move(lines);
  figures.push_back(figure_value(plot));
}

Json figures_of(const RunHistory& history) {
  Json figures = Json::list();
  add_figure(figures, "Loss", "nats per token",
             {{"training", "", history.loss.points()},
              {"validation", "", history.validation_loss.points()}});
  add_figure(figures, "Learning rate", "learning rate",
             {{"learning rate", "", history.learning_rate.points()}});
  add_figure(figures, "Gradient norm", "before clipping",
             {{"gradient norm", "", history.gradient_norm.points()}});
  add_figure(figures, "Throughput", "tokens/s",
             {{"throughput", "", history.tokens_per_second.points()}});
  return figures;
}

std::string state_text(RunState state) {
  std::string text = name_of(state);
  if (state == RunState::kRunning) {
    text +=
        cat(" when this was written; this page reads itself again every ", kRefreshSeconds, " s");
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> state(const RunPage& page,
                                                       const RunHistory& history) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (history.last_step) {
    const StepRecord& last = *history.last_step;
    const double share = static_cast<double>(last.tokens) / static_cast<double>(page.total_tokens);
    pairs.emplace_back(
        "trained on",
        cat(with_commas(last.tokens), " of ", with_commas(page.total_tokens), " tokens (",
            fixed(100 * share, 1), " %), step ", with_commas(last.step)));
    pairs.emplace_back("loss", four_digits(last.loss));
    pairs.emplace_back("tokens/s", human_count(tokens_per_second(last)));
  }
  if (history.last_validation) {
    const ValidationRecord& last = *history.last_validation;
    pairs.emplace_back("validation",
                       cat("loss ", four_digits(last.validation_loss), ", perplexity ",
                           four_digits(std::exp(last.validation_loss))));
    if (last.peak_memory_bytes)
      pairs.emplace_back("peak memory", human_bytes(static_cast<double>(*last.peak_memory_bytes)));
  }
  if (history.saved_step)
    pairs.emplace_back("newest checkpoint", "step " + with_commas(*history.saved_step));
  if (history.skipped_steps > 0)
    pairs.emplace_back("skipped steps", std::to_string(history.skipped_steps));
  return pairs;
}

}  // namespace

std::string run_page(const RunPage& page, const RunHistory& history) {
  Json values = page_head(page.name, {"updated " + page.updated, state_text(page.state)}, "",
                          page.state == RunState::kRunning ? kRefreshSeconds : 0);
  values.update({{"state", pairs_value(state(page, history))},
                 {"figures", figures_of(history)},
                 {"samples", page.samples.empty() ? Json() : Json{{"texts", page.samples}}},
                 {"settings", pairs_value(page.settings)},
                 {"config", page.config_json}});
  return fill_page("run.html", values);
}

}  // namespace alibi
