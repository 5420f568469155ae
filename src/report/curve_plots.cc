#include "report/curve_plots.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "config/protocols.h"
#include "report/table.h"

namespace alibi {
namespace {

bool has_change(const CurvePoint& point) {
  return measured(point) && std::isfinite(point.change_low) && std::isfinite(point.change_high);
}

// Whether a curve has intervals of changes from its 1x, which are paired and so narrower than those
// of the levels themselves.
bool has_changes(const Curve& curve) {
  return std::ranges::any_of(curve.points, [](const CurvePoint& point) {
    return has_change(point) && point.change_low < point.change_high;
  });
}

// Bits per byte of one nat per token: a length scores the same targets for both.
double bits_per_byte_of_a_nat(const CurvePoint& point) { return point.bits_per_byte / point.loss; }

PlotPoint plot_point(const CurvePoint& point, CurveFigure figure) {
  const auto x = static_cast<double>(point.length);
  const double scale = bits_per_byte_of_a_nat(point);
  switch (figure) {
    case CurveFigure::kPerplexity:
      return {x, point.perplexity, point.perplexity_low, point.perplexity_high};
    case CurveFigure::kLoss:
      return {x, point.loss, point.loss_low, point.loss_high};
    case CurveFigure::kBitsPerByte:
      return {x, point.bits_per_byte, scale * point.loss_low, scale * point.loss_high};
  }
  return {};
}

// `level` after its perplexity is multiplied by `ratio`.
double shifted(const CurvePoint& point, CurveFigure figure, double level, double ratio) {
  switch (figure) {
    case CurveFigure::kPerplexity:
      return level * ratio;
    case CurveFigure::kLoss:
      return level + std::log(ratio);
    case CurveFigure::kBitsPerByte:
      return level + bits_per_byte_of_a_nat(point) * std::log(ratio);
  }
  return kNotMeasured;
}

// The level with the interval of the change from 1x around it.
void shade_change(const CurvePoint& point, CurveFigure figure, PlotPoint& drawn) {
  if (std::isfinite(drawn.low) && std::isfinite(drawn.high))
    drawn.note = cat("95 % interval ", four_digits(drawn.low), " to ", four_digits(drawn.high));
  drawn.low = drawn.high = kNotMeasured;
  if (!has_change(point)) return;
  const auto end = [&](double change) {
    return shifted(point, figure, drawn.y, (1 + change) / (1 + point.change_from_1x));
  };
  drawn.low = end(point.change_low);
  drawn.high = end(point.change_high);
}

// "not applicable beyond 256", or the lengths themselves when shorter ones are missing too; what
// memory did not last for is said apart.
std::string missing_note(const Curve& curve) {
  std::vector<std::string> missing, lost;
  std::int64_t longest = 0;
  std::int64_t shortest_missing = 0;
  for (const CurvePoint& point : curve.points) {
    if (point.applicable) {
      longest = std::max(longest, point.length);
    } else if (point.out_of_memory) {
      lost.push_back(with_commas(point.length));
    } else {
      if (missing.empty() || point.length < shortest_missing) shortest_missing = point.length;
      missing.push_back(with_commas(point.length));
    }
  }
  std::vector<std::string> notes;
  if (!missing.empty() && longest > 0 && shortest_missing > longest)
    notes.push_back("not applicable beyond " + with_commas(longest));
  else if (!missing.empty())
    notes.push_back("not applicable at " + join(missing, ", "));
  if (!lost.empty()) notes.push_back(cat(kOutOfMemory, " at ", join(lost, ", ")));
  return join(notes, "; ");
}

// Curves trained at one length share a mark; where there are several lengths each names its curves.
std::vector<PlotMark> trained_marks(const CurveSet& set) {
  std::vector<std::pair<std::int64_t, std::vector<std::string>>> lengths;
  for (const Curve& curve : set.curves) {
    if (curve.trained_length <= 0) continue;
    auto found = std::find_if(lengths.begin(), lengths.end(), [&](const auto& entry) {
      return entry.first == curve.trained_length;
    });
    if (found == lengths.end()) found = lengths.insert(found, {curve.trained_length, {}});
    found->second.push_back(curve.label());
  }
  std::sort(lengths.begin(), lengths.end());
  std::vector<PlotMark> marks;
  for (const auto& [length, names] : lengths) {
    std::string text = "trained length " + with_commas(length);
    if (lengths.size() > 1)
      text += cat(" (", names.size() > 2 ? cat(names.size(), " curves") : join(names, ", "), ")");
    marks.push_back({static_cast<double>(length), text});
  }
  return marks;
}

const char* figure_title(CurveFigure figure) {
  switch (figure) {
    case CurveFigure::kPerplexity:
      return "Perplexity";
    case CurveFigure::kLoss:
      return "Loss";
    case CurveFigure::kBitsPerByte:
      return "Bits per byte";
  }
  return "";
}

const char* figure_axis(CurveFigure figure) {
  switch (figure) {
    case CurveFigure::kPerplexity:
      return "perplexity per token";
    case CurveFigure::kLoss:
      return "loss (nats per token)";
    case CurveFigure::kBitsPerByte:
      return "bits per byte of text";
  }
  return "";
}

}  // namespace

std::string curve_subtitle(const CurveSet& set) {
  std::vector<std::string> parts;
  if (const auto protocol = set.protocol.name)
    parts.push_back(
        cat(name_of(*protocol), protocol_row(*protocol).streams ? " cache" : " windows"));
  for (std::string& number : protocol_numbers(set.protocol)) parts.push_back(std::move(number));
  if (set.text.tokens_scored > 0) {
    parts.push_back(with_commas(set.text.tokens_scored) + " targets" + scored_where(set.protocol));
  }
  if (!set.protocol.precision.empty()) parts.push_back(set.protocol.precision);
  return join(parts, ", ");
}

PlotSpec curve_plot(const CurveSet& set, CurveFigure figure) {
  PlotSpec plot;
  plot.title = cat(figure_title(figure), " against context length");
  plot.subtitle = curve_subtitle(set);
  plot.x_title = "length of the window (tokens)";
  plot.y_title = figure_axis(figure);
  plot.levels = true;
  plot.marks = trained_marks(set);
  if (plot.marks.size() == 1) plot.x_unit = plot.marks.front().x;
  const bool changes = std::ranges::any_of(set.curves, has_changes);
  if (changes) plot.shaded = "95 % interval of the change from 1x";
  for (const Curve& curve : set.curves) {
    PlotSeries series{curve.label(), missing_note(curve), {}};
    for (const CurvePoint& point : curve.points) {
      if (!point.applicable) continue;
      series.points.push_back(plot_point(point, figure));
      if (changes) shade_change(point, figure, series.points.back());
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

PlotSpec position_plot(const CurveSet& set, const Curve& curve) {
  PlotSpec plot;
  plot.title = "Loss by position in the window: " + curve.label();
  plot.subtitle = curve_subtitle(set);
  plot.x_title = "position of the target in the window (tokens of context)";
  plot.y_title = "loss (nats per token)";
  const auto trained = static_cast<double>(curve.trained_length);
  if (trained > 0)
    plot.marks.push_back({trained, "trained length " + with_commas(curve.trained_length)});
  for (const LossByPosition& measured : curve.loss_by_position) {
    PlotSeries series{cat("window ", with_commas(measured.length)), "", {}};
    if (trained > 0)
      series.label += cat(" (", times(static_cast<double>(measured.length) / trained), ")");
    for (const PositionBin& bin : measured.bins) {
      // The middle of a bin on a logarithmic axis.
      const double middle =
          std::sqrt(static_cast<double>(bin.first) * static_cast<double>(bin.last));
      series.points.push_back({middle, bin.count > 0 ? bin.loss : kNotMeasured});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace alibi
