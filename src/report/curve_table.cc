// The curve on the terminal: one table per curve, about 110 columns wide.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/context.h"
#include "report/curve.h"
#include "report/table.h"

namespace alibi {
namespace {

std::string mark(const Curve& curve, std::int64_t length) {
  const bool trained = length == curve.trained_length;
  const bool sequence = length == curve.sequence_length;
  if (trained && sequence) return "trained length = L";
  return trained ? "trained length" : sequence ? "L" : "";
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

// Below a curve's table: notes on points, perplexity per word, what it does with its context.
std::string context_lines(const Curve& curve) {
  std::string text;
  std::vector<std::string> words;
  for (const CurvePoint& point : curve.points) {
    if (point.applicable && !point.note.empty())
      text += cat(with_commas(point.length), ": ", point.note, "\n");
    if (std::isfinite(point.word_perplexity))
      words.push_back(cat(times(point.multiple), " ", four_digits(point.word_perplexity)));
  }
  if (!words.empty()) text += cat("perplexity per word: ", join(words, ", "), "\n");
  if (has_split(curve))
    text += cat("\ngains over 1x, nats per token\n", format_table(split_table(curve)));
  const std::string useful = useful_context_words(curve.far_context);
  return useful.empty() ? text : cat(text, useful, "\n");
}

std::string foot(const CurveSet& set) {
  const CurveProtocol& protocol = set.protocol;
  std::vector<std::pair<std::string, std::string>> lines;
  std::string name = protocol_name(protocol);
  if (protocol.stride > 0) name += cat(", stride ", with_commas(protocol.stride));
  if (protocol.sinks > 0) name += cat(", ", protocol.sinks, " sinks");
  if (!protocol.description.empty()) name += cat(": ", protocol.description);
  lines.emplace_back("protocol", name);
  if (!protocol.treatment.empty()) lines.emplace_back("treatment", protocol.treatment);
  if (!protocol.document_borders.empty())
    lines.emplace_back("documents", protocol.document_borders);
  std::vector<std::string> means;
  for (const std::string& part : {protocol.precision, protocol.device, protocol.kernel}) {
    if (!part.empty()) means.push_back(part);
  }
  if (!means.empty()) lines.emplace_back("computed", join(means, ", "));
  const std::string selection = set.text.selection.empty() ? "" : " (" + set.text.selection + ")";
  lines.emplace_back("text",
                     cat(join(set.text.files, ", "), ": ", with_commas(set.text.tokens_scored),
                         " tokens scored", scored_where(protocol), ", ",
                         with_commas(set.text.tokens_cut_off), " not scored", selection));
  return format_pairs(lines);
}

}  // namespace

std::string curve_table(const CurveSet& set) {
  std::string text;
  for (const Curve& curve : set.curves)
    text += curve_head(curve) + one_table(curve) + context_lines(curve) + "\n";
  if (set.curves.empty()) text += "no curves\n\n";
  return text + foot(set);
}

}  // namespace alibi
