#include "report/context.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace alibi {
namespace {

// "17" or "17-32"
std::string range_text(const FarBin& bin) {
  return bin.first == bin.last ? with_commas(bin.first)
                               : cat(with_commas(bin.first), "-", with_commas(bin.last));
}

std::vector<std::string> change_cells(const BoundedMean& change) {
  return {signed_figure(change.mean), interval_text(change.low, change.high, signed_figure)};
}

PlotSeries series_of(const FarContext& far, const char* label, BoundedMean FarBin::*kind) {
  PlotSeries series{label, "", {}};
  for (const FarBin& bin : far.bins) {
    const BoundedMean& change = bin.*kind;
    series.points.push_back({static_cast<double>(bin.last), change.mean, change.low, change.high});
  }
  return series;
}

Reach farthest(const FarContext& far, BoundedMean FarBin::*kind) {
  Reach reach;
  for (const FarBin& bin : far.bins) {
    const BoundedMean& rise = bin.*kind;
    if (rise.low > 0 && rise.mean > kLeastContextGain)
      reach = {.tokens = bin.last, .bounded = bin.last < far.bins.back().last};
    else if (!(rise.high <= kLeastContextGain))
      reach.bounded = false;
  }
  return reach;
}

}  // namespace

Reach useful_context(const FarContext& far) { return farthest(far, &FarBin::cut); }
Reach noticed_context(const FarContext& far) { return farthest(far, &FarBin::swapped); }

std::string reach_rule() {
  return cat("raises the loss by more than ", kLeastContextGain, " nats, with an interval above 0");
}

std::string reach_text(const Reach& reach) {
  if (reach.tokens == 0) return "not shown";  // few targets show little
  return cat(reach.bounded ? "" : "at least ", with_commas(reach.tokens),
             reach.tokens == 1 ? " token" : " tokens");
}

std::string useful_context_text(const FarContext& far) {
  if (far.window == 0) return "";
  if (far.bins.empty()) {
    return cat("useful context: not measured, the text has too few windows of ",
               with_commas(far.window), " tokens");
  }
  return cat("useful context: ", reach_text(useful_context(far)),
             " (the farthest distance at which leaving out what lies farther back ", reach_rule(),
             "); noticed context: ", reach_text(noticed_context(far)),
             " (at which text from elsewhere does); ", with_commas(far.targets),
             " targets, windows of ", with_commas(far.window));
}

std::string usable_text(const Curve& curve) {
  const UsableLength& usable = curve.usable;
  if (usable.tokens == 0) return "";
  const bool bounded = std::ranges::any_of(curve.points, [&](const CurvePoint& point) {
    return point.length > usable.tokens && measured(point);
  });
  return cat(bounded ? "" : "at least ", with_commas(usable.tokens),
             usable.tokens == 1 ? " token" : " tokens", " (", with_commas(usable.low), " .. ",
             with_commas(usable.high), ")");
}

std::int64_t harmless_length(const Curve& curve) {
  std::int64_t harmless = curve.usable.tokens;
  double most = -INFINITY;
  for (const CurvePoint& point : curve.points) {
    if (point.length < curve.usable.tokens) continue;
    if (point.length == curve.usable.tokens) most = point.loss + kUsableMargin;
    if (!measured(point) || !(point.loss <= most)) break;
    harmless = point.length;
  }
  return harmless;
}

std::string usable_rule() {
  return cat("the longest whose loss is within ", kUsableMargin,
             " nats of the best and whose longer context helps, by more than ", kLeastContextGain,
             " nats over the longest usable length below it");
}

std::string key_tokens_text(const KeyTokenRule& rule, const CurveText& text) {
  if (rule.evaluator.empty()) return "";
  return cat(with_commas(rule.tokens), " of ", with_commas(text.tokens_scored),
             " targets, whose loss under ", rule.evaluator, " falls by more than ", rule.least_gain,
             " nats, to less than ", rule.most_loss, ", where windows of ",
             with_commas(rule.long_length), " tokens stand in place of ",
             with_commas(rule.short_length));
}

Table key_tokens_table(const Curve& curve) {
  const Align right = Align::kRight;
  Table table{{{"length", right},
               {"", right},
               {"perplexity of key tokens", right},
               {"95 % interval", right},
               {"change", right},
               {"95 % interval", right},
               {"longer context (nats)", right},
               {"95 % interval", right}},
              {}};
  for (const CurvePoint& point : curve.points) {
    const auto& [loss, change, gain] = point.key;
    if (!std::isfinite(loss.mean)) continue;
    const bool base = point.length == curve.trained_length;
    const bool gains = !base && std::isfinite(gain.mean);
    table.rows.push_back({with_commas(point.length), times(point.multiple),
                          four_digits(std::exp(loss.mean)),
                          interval_text(std::exp(loss.low), std::exp(loss.high), four_digits),
                          base ? "" : percent(change.mean),
                          base ? "" : interval_text(change.low, change.high, percent),
                          gains ? signed_figure(gain.mean) : "",
                          gains ? interval_text(gain.low, gain.high, signed_figure) : ""});
  }
  return table;
}

Table split_table(const Curve& curve) {
  const Align right = Align::kRight;
  Table table{{{"length", right},
               {"", right},
               {"gain over 1x", right},
               {"fewer early tokens", right},
               {"95 % interval", right},
               {"longer context", right},
               {"95 % interval", right}},
              {}};
  for (const CurvePoint& point : curve.points) {
    if (!std::isfinite(point.context_gain) || point.length == curve.trained_length) continue;
    table.rows.push_back(
        {with_commas(point.length), times(point.multiple),
         signed_figure(point.early_gain + point.context_gain), signed_figure(point.early_gain),
         interval_text(point.early_gain_low, point.early_gain_high, signed_figure),
         signed_figure(point.context_gain),
         interval_text(point.context_gain_low, point.context_gain_high, signed_figure)});
  }
  return table;
}

Table far_context_table(const FarContext& far) {
  const Align right = Align::kRight;
  Table table{{{"true tokens", right},
               {"targets", right},
               {"swapped", right},
               {"95 % interval", right},
               {"shuffled", right},
               {"95 % interval", right},
               {"cut", right},
               {"95 % interval", right}},
              {}};
  for (const FarBin& bin : far.bins) {
    std::vector<std::string> row = {range_text(bin), with_commas(bin.targets)};
    for (const BoundedMean& change : {bin.swapped, bin.shuffled, bin.cut})
      for (std::string& cell : change_cells(change)) row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  return table;
}

PlotSpec far_context_plot(const Curve& curve) {
  PlotSpec plot;
  plot.title = cat("What far context is worth: ", curve.name);
  plot.subtitle = cat(with_commas(curve.far_context.targets), " targets, windows of ",
                      with_commas(curve.far_context.window), ", paired, joint 95 % intervals");
  plot.x_title = "tokens of true context before the target";
  plot.y_title = "rise of the loss (nats per token)";
  plot.series = {series_of(curve.far_context, "swapped for text from elsewhere", &FarBin::swapped),
                 series_of(curve.far_context, "shuffled", &FarBin::shuffled),
                 series_of(curve.far_context, "cut", &FarBin::cut)};
  if (curve.far_context.bins.back().last >= curve.trained_length)
    plot.marks = {{static_cast<double>(curve.trained_length),
                   "trained length " + with_commas(curve.trained_length)}};
  return plot;
}

}  // namespace alibi
