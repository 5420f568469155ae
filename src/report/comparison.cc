// A comparison on the terminal and in words.
#include "report/comparison_reports.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/printable.h"
#include "base/strings.h"
#include "report/table.h"

namespace alibi {
namespace {

std::string four_places(double value) { return std::isfinite(value) ? fixed(value, 4) : "-"; }

// Of other tokenizers' tokens neither perplexities nor losses are to be compared.
std::vector<std::string> measured_cells(Measure measure, const ComparedVariant& variant,
                                        const ComparedPoint& point) {
  const std::string change =
      point.length == variant.trained_length ? "" : percent(point.change.mean);
  if (measure == Measure::kBitsPerByte) return {four_places(point.bits_per_byte), change};
  return {four_digits(point.perplexity), change, four_places(point.loss.mean),
          four_places(point.loss.deviation)};
}

std::vector<std::string> point_row(Measure measure, const ComparedVariant& variant,
                                   const ComparedPoint& point) {
  std::vector<std::string> row = {variant.name, with_commas(point.length), times(point.multiple)};
  if (!point.applicable) {
    row.push_back("not applicable: " + point.note);
    return row;
  }
  const std::vector<std::string> cells = measured_cells(measure, variant, point);
  row.insert(row.end(), cells.begin(), cells.end());
  const bool compared = point.verdict != Verdict::kReference;
  row.insert(
      row.end(),
      {compared ? signed_figure(point.difference.mean) : "",
       std::isfinite(point.difference.error) ? fixed(point.difference.error, 4) : "",
       compared ? interval_text(point.difference.low, point.difference.high, signed_figure) : "",
       verdict_name(point.verdict)});
  return row;
}

std::string costs(const Comparison& c) {
  const Align right = Align::kRight;
  Table table{{{"variant", Align::kLeft},
               {"trained at", right},
               {"parameters", right},
               {"targets trained on", right},
               {"whole training", right},
               {"tok/s of steps", right},
               {"memory", right}},
              {}};
  for (const ComparedVariant& v : c.variants) {
    table.rows.push_back(
        {v.name, with_commas(v.trained_length), human_count(static_cast<double>(v.parameters)),
         v.train_targets > 0 ? with_commas(v.train_targets) : "-",
         std::isfinite(v.train_seconds) ? human_seconds(v.train_seconds) : "-",
         std::isfinite(v.train_tokens_per_second) ? human_count(v.train_tokens_per_second) : "-",
         v.peak_memory_bytes > 0 ? human_bytes(static_cast<double>(v.peak_memory_bytes)) : "-"});
  }
  return format_table(table);
}

std::string visited(const Comparison& c) {
  const Table table = visited_table(c);
  return table.rows.empty() ? "" : format_table(table) + "\n";
}

std::string failures(const Comparison& c) {
  std::string text;
  for (const ComparedRun& run : c.runs) {
    if (!run.failure.empty())
      text +=
          printable(cat("failed: ", run.variant, ", seed ", run.seed, ": ", run.failure)) + "\n";
  }
  return text;
}

// The point of a variant at the longest length that both it and the reference reach.
const ComparedPoint* last_pair(const ComparedVariant& variant) {
  const ComparedPoint* last = nullptr;
  for (const ComparedPoint& point : variant.points) {
    if (point.difference.count > 0) last = &point;
  }
  return last;
}

// Of the reference: how its own curve goes, at its longest length; empty where there is none.
std::string change_text(const ComparedVariant& variant) {
  const ComparedPoint* last = nullptr;
  for (const ComparedPoint& point : variant.points) {
    if (point.length > variant.trained_length && point.change.count > 0) last = &point;
  }
  if (last == nullptr) return "";
  std::string text =
      cat(variant.name, ": its perplexity at ", with_commas(last->length), " tokens (",
          times(last->multiple), ") is ", percent(last->change.mean), " from 1x");
  if (last->change.count > 1)
    text += cat(" (", last->change.count, " seeds, 95 % interval ",
                interval_text(last->change.low, last->change.high, percent), ")");
  return text + ".\n";
}

std::string difference_text(const Comparison& c, const ComparedVariant& variant) {
  const ComparedPoint* point = last_pair(variant);
  if (point == nullptr)
    return cat(variant.name, ": no length was measured on both it and ", c.reference, ".");
  const std::string place = cat("at ", with_commas(point->length), " tokens");
  const std::string size =
      cat(fixed(std::abs(point->difference.mean), 4), " ", measure_unit(c), " ",
          point->difference.mean < 0 ? "lower" : "higher", " than ", c.reference, "'s");
  if (point->verdict == Verdict::kUnknown)
    return cat(variant.name, ": its loss ", place, " is ", size,
               "; one seed does not show whether that is noise.");
  const std::string spread =
      cat(point->difference.count, " paired seeds, 95 % interval ",
          interval_text(point->difference.low, point->difference.high, signed_figure));
  if (point->verdict == Verdict::kNoise)
    return cat(variant.name, ": not measurably different from ", c.reference, " ", place, " (",
               signed_figure(point->difference.mean), " ", measure_unit(c), ", ", spread,
               ", which holds 0).");
  return cat(variant.name, ": its loss ", place, " is ", size, " (", spread, ").");
}

double measured(const Comparison& c, const ComparedPoint& point) {
  return c.measure == Measure::kLoss ? point.loss.mean : point.bits_per_byte;
}

// "alibi, all others measurably worse": who is lowest at the length of that index.
std::string lowest_at(const Comparison& c, std::size_t index) {
  const ComparedVariant *lowest = nullptr, *reference = nullptr;
  std::vector<std::string> close, unknown, better;
  bool is_alone = true;
  for (const ComparedVariant& variant : c.variants) {
    const double value = measured(c, variant.points[index]);
    if (!std::isfinite(value)) continue;
    if (lowest == nullptr || value < measured(c, lowest->points[index])) lowest = &variant;
    if (variant.name == c.reference) {
      reference = &variant;
      continue;
    }
    is_alone = false;
    const Verdict verdict = variant.points[index].verdict;
    if (verdict == Verdict::kNoise) close.push_back(variant.name);
    if (verdict == Verdict::kUnknown) unknown.push_back(variant.name);
    if (verdict == Verdict::kBetter) better.push_back(variant.name);
  }
  if (lowest == nullptr) return "";
  if (c.seeds.size() < 2) return lowest->name + "; one seed does not show whether that is noise";
  if (reference == nullptr) return cat(lowest->name, "; ", c.reference, " has no loss there");
  if (lowest != reference) {
    const Verdict verdict = lowest->points[index].verdict;
    if (verdict == Verdict::kUnknown)
      return cat(lowest->name, "; too few seeds show whether ", c.reference, " is worse");
    if (verdict == Verdict::kWorse)
      return cat(lowest->name, ", a mean over other seeds; over those that both have, ",
                 c.reference, " is measurably lower");
    return cat(lowest->name,
               verdict == Verdict::kNoise ? ", within noise of " : ", measurably lower than ",
               c.reference);
  }
  if (!better.empty())
    return cat(lowest->name, ", a mean over other seeds; over those that both have, ",
               join(better, ", "), better.size() == 1 ? " is" : " are", " measurably lower");
  if (close.empty() && unknown.empty())
    return lowest->name + (is_alone ? ", the only one measured" : ", all others measurably worse");
  return cat(lowest->name, close.empty() ? "" : ", within noise of " + join(close, ", "),
             unknown.empty()
                 ? ""
                 : "; too few seeds show whether these are worse: " + join(unknown, ", "));
}

// Who wins at which length, one for each stretch of lengths with one answer: "at 64 to 128 tokens:
// alibi, all others measurably worse".
std::vector<std::string> winners(const Comparison& c) {
  std::vector<std::string> lines;
  if (c.variants.size() < 2) return lines;
  const std::vector<ComparedPoint>& points = c.variants.front().points;
  for (std::size_t first = 0, next = 0; first < points.size(); first = next) {
    const std::string words = lowest_at(c, first);
    for (next = first + 1; next < points.size() && lowest_at(c, next) == words;) ++next;
    if (words.empty()) continue;
    const std::string last = with_commas(points[next - 1].length);
    lines.push_back(cat("at ", next - first > 1 ? with_commas(points[first].length) + " to " : "",
                        last, " tokens: ", words));
  }
  return lines;
}

// Below the table: at most four lines, and one for each run that failed.
std::string foot(const Comparison& c) {
  std::string text;
  const std::vector<std::string> lowest = winners(c);
  if (!lowest.empty()) text += cat("lowest ", printable(join(lowest, "; ")), "\n");
  if (c.seeds.size() > 1)
    text +=
        cat("means over ", c.seeds.size(), " seeds; intervals are over seeds, not over texts\n");
  const std::string protocol = protocol_line(c.protocol), scored = text_line(c.protocol, c.text);
  if (!protocol.empty()) text += cat("protocol: ", protocol, "\n");
  if (!scored.empty()) text += cat("text: ", printable(scored), "\n");
  return text + failures(c);
}

}  // namespace

const char* measure_unit(const Comparison& c) {
  return c.measure == Measure::kLoss ? "nats per token" : "bits per byte";
}

std::string verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kReference:
      return "reference";
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kNoise:
      return "within noise";
    case Verdict::kUnknown:
      return "";
  }
  return "";
}

Table visited_table(const Comparison& c) {
  Table table{{{"blocks visited at", Align::kLeft}}, {}};
  if (c.variants.empty()) return table;
  for (const ComparedPoint& point : c.variants.front().points)
    table.columns.push_back({with_commas(point.length), Align::kRight});
  bool counted = false;
  for (const ComparedVariant& variant : c.variants) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(variant.name);
    for (const ComparedPoint& point : variant.points) {
      row.push_back(share_text(point.visited_share));
      counted = counted || std::isfinite(point.visited_share);
    }
  }
  if (!counted) table.rows.clear();
  return table;
}

std::string comparison_table(const Comparison& c) {
  const Align right = Align::kRight;
  Table table{{{"variant", Align::kLeft}, {"length", right}, {"", right}}, {}};
  const std::vector<std::string> measured =
      c.measure == Measure::kBitsPerByte
          ? std::vector<std::string>{"bits per byte", "perplexity from 1x"}
          : std::vector<std::string>{"perplexity", "from 1x", "loss", "sd"};
  for (const std::string& title : measured) table.columns.push_back({title, right});
  const char* unit = c.measure == Measure::kBitsPerByte ? "bits per byte" : "nats";
  for (const std::string& title :
       {cat(unit, " from ", c.reference), std::string("error"), std::string("95 % interval")})
    table.columns.push_back({title, right});
  table.columns.push_back({"", Align::kLeft});
  for (const ComparedVariant& variant : c.variants) {
    if (!table.rows.empty()) table.rows.push_back({});
    for (const ComparedPoint& point : variant.points)
      table.rows.push_back(point_row(c.measure, variant, point));
  }
  std::string notes;
  for (const std::string& note : comparison_notes(c)) notes += cat("note: ", printable(note), "\n");
  return cat(costs(c), "\n", visited(c), comparison_context(c), comparison_slopes(c),
             format_table(table), notes, "\n", comparison_tasks(c), foot(c));
}

std::string comparison_summary(const Comparison& c) {
  std::string text;
  for (const std::string& line : winners(c)) text += cat("Lowest ", line, ".\n");
  for (const ComparedVariant& variant : c.variants) {
    text += variant.name == c.reference ? change_text(variant) : difference_text(c, variant) + "\n";
  }
  if (c.seeds.size() > 1 && c.variants.size() > 1) {
    text +=
        cat("Figures are means over ", c.seeds.size(),
            " seeds, their intervals (Student's t) those of training again with other seeds on the "
            "same text; what another text would give is not in them. They are of single points: of "
            "100 true ties about 5 fall outside theirs.\n");
  }
  return text;
}

std::vector<std::string> comparison_notes(const Comparison& c) {
  std::map<std::pair<std::int64_t, std::string>, std::vector<std::string>> variants;
  for (const ComparedVariant& variant : c.variants) {
    for (const ComparedPoint& point : variant.points) {
      if (point.applicable && !point.note.empty())
        variants[{point.length, point.note}].push_back(variant.name);
    }
  }
  std::vector<std::string> notes;
  for (const ComparedVariant& variant : c.variants) {
    for (const ComparedPoint& point : variant.points) {
      if (point.loss.count > 0 && point.loss.count < std::ssize(c.seeds))
        notes.push_back(cat(variant.name, " at ", with_commas(point.length), " tokens: of ",
                            point.loss.count, " of ", c.seeds.size(), " seeds only"));
    }
  }
  for (const ComparedTask& task : c.tasks)
    for (std::size_t i = 0; i < c.variants.size(); ++i)
      for (const ComparedAnswers& point : task.variants[i])
        if (point.share.count > 0 && point.share.count < std::ssize(c.seeds))
          notes.push_back(cat(c.variants[i].name, ", task ", task.name, " at ",
                              with_commas(point.length), " tokens: of ", point.share.count, " of ",
                              c.seeds.size(), " seeds only"));
  for (const auto& [what, names] : variants) {
    const bool all = names.size() == c.variants.size();
    notes.push_back(cat("at ", with_commas(what.first), " tokens",
                        all ? "" : " (" + join(names, ", ") + ")", ": ", what.second));
  }
  return notes;
}

CurveSet mean_curves(const Comparison& c) {
  CurveSet set;
  set.protocol = c.protocol;
  set.text = c.text;
  for (const ComparedVariant& variant : c.variants) {
    Curve curve;
    curve.name = variant.name;
    curve.position = variant.position;
    curve.trained_length = variant.trained_length;
    curve.sequence_length = variant.sequence_length;
    curve.train_sequence_length_scaling = variant.train_sequence_length_scaling;
    curve.parameters = variant.parameters;
    for (const ComparedPoint& point : variant.points) {
      CurvePoint mean;
      mean.length = point.length;
      mean.multiple = point.multiple;
      mean.applicable = point.applicable;
      mean.note = point.note;
      mean.loss = point.loss.mean;
      mean.loss_low = point.loss.low;
      mean.loss_high = point.loss.high;
      mean.perplexity = point.perplexity;
      mean.perplexity_low = std::exp(point.loss.low);
      mean.perplexity_high = std::exp(point.loss.high);
      mean.change_from_1x = point.change.mean;
      mean.change_low = point.change.low;
      mean.change_high = point.change.high;
      mean.bits_per_byte = point.bits_per_byte;
      mean.visited_share = point.visited_share;
      curve.points.push_back(mean);
    }
    set.curves.push_back(std::move(curve));
  }
  return set;
}

}  // namespace alibi
