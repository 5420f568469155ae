// The curve on the terminal: one table per curve, about 110 columns wide.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/printable.h"
#include "base/strings.h"
#include "report/context.h"
#include "report/curve.h"
#include "report/table.h"

namespace alibi {
namespace {

std::string mark(const Curve& curve, std::int64_t length) {
  const bool trained = length == curve.trained_length;
  const bool sequence = length == curve.sequence_length;
  return trained ? "trained length" : sequence ? "sequence_length" : "";
}

std::vector<std::string> point_row(const Curve& curve, const CurvePoint& point) {
  const std::string length = with_commas(point.length);
  if (!point.applicable) {
    const std::string why = point.note.empty() ? "" : ": " + point.note;
    return {length, times(point.multiple), "not applicable" + why};
  }
  const bool base = point.length == curve.trained_length;
  return {length,
          times(point.multiple),
          four_digits(point.perplexity),
          interval_text(point.perplexity_low, point.perplexity_high, four_digits),
          base ? "" : percent(point.change_from_1x),
          base ? "" : interval_text(point.change_low, point.change_high, percent),
          std::isfinite(point.bits_per_byte) ? fixed(point.bits_per_byte, 4) : "-",
          std::isfinite(point.tokens_per_second) ? human_count(point.tokens_per_second) : "-",
          point.peak_memory_bytes > 0 ? human_bytes(double(point.peak_memory_bytes)) : "-",
          mark(curve, point.length)};
}

std::string curve_head(const Curve& curve) {
  std::string text = curve.name.empty() ? curve.position : curve.name;
  if (!curve.position.empty() && curve.position != curve.name)
    text += cat(" (", curve.position, ")");
  text += cat(", trained length ", with_commas(curve.trained_length), " = ",
              with_commas(curve.sequence_length), " x ",
              significant(curve.train_sequence_length_scaling, 4));
  if (curve.parameters > 0) text += cat(", ", human_count(double(curve.parameters)), " parameters");
  if (curve.step > 0) text += cat(", step ", with_commas(curve.step));
  if (!curve.checkpoint.empty()) text += cat("\n", curve.checkpoint);
  std::string lines;
  for (const std::string& line : split(text, '\n')) lines += printable(line) + "\n";
  return lines;
}

std::string one_table(const Curve& curve) {
  const Align right = Align::kRight;
  Table table{{{"length", right},
               {"", right},
               {"perplexity", right},
               {"95 % interval", right},
               {"change", right},
               {"95 % interval", right},
               {"bits/byte", right},
               {"tok/s", right},
               {"memory", right},
               {"", Align::kLeft}},
              {}};
  for (const CurvePoint& point : curve.points) table.rows.push_back(point_row(curve, point));
  if (table.rows.empty()) table.rows.push_back({"no lengths measured"});
  return format_table(table);
}

// The split of the gain: all of it where it was asked for, else at the longest length.
std::string split_lines(const CurveSet& set, const Curve& curve) {
  if (set.protocol.split_stride > 0)
    return cat("\ngain over 1x, nats per token\n", format_table(split_table(curve)));
  const CurvePoint* longest = nullptr;
  for (const CurvePoint& point : curve.points)
    if (std::isfinite(point.context_gain) && point.length > curve.trained_length) longest = &point;
  if (longest == nullptr) return "";
  return cat("gain over 1x at ", with_commas(longest->length), ": ",
             signed_figure(longest->early_gain + longest->context_gain),
             " nats; of it longer context ", signed_figure(longest->context_gain), " (",
             interval_text(longest->context_gain_low, longest->context_gain_high, signed_figure),
             "), fewer early tokens ", signed_figure(longest->early_gain), "\n");
}

std::string key_lines(const Curve& curve) {
  const Table table = key_tokens_table(curve);
  return table.rows.empty() ? "" : cat("\n", format_table(table));
}

// A footnote of the table: the first note on a measured point, and how many more there are.
std::string note_line(const Curve& curve) {
  std::string first;
  int more = 0;
  for (const CurvePoint& point : curve.points) {
    if (!point.applicable || point.note.empty()) continue;
    if (first.empty()) {
      first = cat(with_commas(point.length), " tokens: ", printable(point.note));
    } else {
      ++more;
    }
  }
  return first.empty() ? "" : cat(first, more > 0 ? cat("; ", more, " more notes") : "", "\n");
}

// Why intervals are missing: too few windows to be resampled; those of prompts alone do not count.
std::string interval_line(const CurveSet& set) {
  std::int64_t longest = 0;
  for (const Curve& curve : set.curves)
    for (const CurvePoint& point : curve.points) longest = std::max(longest, point.length);
  for (const Curve& curve : set.curves) {
    for (const CurvePoint& point : curve.points) {
      if (!point.applicable || point.targets == 0 || std::isfinite(point.loss_low)) continue;
      const std::int64_t window = set.protocol.name == Protocol::kOnePass ? point.length : longest;
      return cat("none: fewer than ", kLeastBlocks, " windows of ", with_commas(window),
                 " tokens hold targets");
    }
  }
  return "";
}

// The longest length that is worth its tokens, of each curve.
std::string usable_line(const CurveSet& set) {
  std::vector<std::string> lengths;
  for (const Curve& curve : set.curves) {
    if (curve.usable.tokens == 0) continue;
    const std::int64_t harmless = harmless_length(curve);
    lengths.push_back(
        cat(set.curves.size() > 1 ? curve.label() + " " : "", usable_text(curve),
            harmless > curve.usable.tokens ? ", no harm up to " + with_commas(harmless) : ""));
  }
  return join(lengths, "; ");
}

// `says_too_few`: where it was not measured; the line above may have said it.
std::string useful_line(const CurveSet& set, bool says_too_few) {
  std::vector<std::string> reaches;
  for (const Curve& curve : set.curves) {
    const FarContext& far = curve.far_context;
    if (far.window == 0 || (far.bins.empty() && !says_too_few)) continue;
    const std::string window = with_commas(far.window);
    reaches.push_back(cat(set.curves.size() > 1 ? curve.label() + " " : "",
                          far.bins.empty()
                              ? "not measured (too few windows of " + window + ")"
                              : reach_text(useful_context(far)) + ", in windows of " + window));
  }
  return join(reaches, "; ");
}

}  // namespace

std::string protocol_line(const CurveProtocol& protocol) {
  std::vector<std::string> parts = {protocol_name(protocol)};
  for (std::string& number : protocol_numbers(protocol)) parts.push_back(std::move(number));
  for (const std::string& part : {protocol.precision, protocol.device}) parts.push_back(part);
  if (!protocol.kernel.empty()) parts.push_back("kernel " + protocol.kernel);
  std::erase(parts, "");
  return join(parts, ", ");
}

std::string text_line(const CurveProtocol& protocol, const CurveText& text) {
  if (text.files.empty()) return "";
  const std::string more =
      text.files.size() > 1 ? cat(" and ", text.files.size() - 1, " more") : "";
  return cat(text.files.front(), more, ", ", with_commas(text.tokens_scored), " of ",
             with_commas(text.tokens_scored + text.tokens_cut_off), " tokens scored",
             scored_where(protocol));
}

std::string curve_table(const CurveSet& set) {
  std::string text;
  for (const Curve& curve : set.curves)
    text += curve_head(curve) + one_table(curve) + note_line(curve) + split_lines(set, curve) +
            key_lines(curve) + "\n";
  if (set.curves.empty()) text += "no curves\n\n";
  std::string intervals = interval_line(set), useful = useful_line(set, intervals.empty());
  if (!intervals.empty() && !useful.empty())
    intervals += "; useful context: " + std::exchange(useful, "");
  const std::pair<const char*, std::string> lines[] = {
      {"intervals", intervals},
      {"key tokens", key_tokens_text(set.key_tokens, set.text)},
      {"usable length", usable_line(set)},
      {"useful context", useful},
      {"positions", set.protocol.treatment},
      {"protocol", protocol_line(set.protocol)},
      {"text", text_line(set.protocol, set.text)}};
  for (const auto& [name, value] : lines)
    if (!value.empty()) text += cat(name, ": ", printable(value), "\n");
  return text;
}

}  // namespace alibi
