#include "report/answers.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json/parse.h"
#include "base/json/record.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "report/change_fields.h"
#include "report/csv.h"
#include "report/page_parts.h"
#include "report/table.h"
#include "report/template.h"

namespace alibi {

template <class Fields>
void fields(Fields& f, AnswersCell& c) {
  f("length", c.length);
  f("depth", c.depth);
  f("note", c.note);
  f("trials", c.trials);
  f("size", c.size);
  f("answers", c.answers);
  f("right", c.right);
  f("share", c.share);
  f("share_low", c.share_low);
  f("share_high", c.share_high);
  change_fields(f, "loss", c.loss);
  change_fields(f, "gain", c.gain);
}

template <class Fields>
void fields(Fields& f, AnswersResult& r) {
  f("name", r.name);
  f("position", r.position);
  f("checkpoint", r.checkpoint);
  f("step", r.step);
  f("trained_length", r.trained_length);
  f("cells", r.cells);
}

template <class Fields>
void fields(Fields& f, AnswersSet& set) {
  f.format({.kind = "answers", .newest = kAnswersFormat, .way_out = "measure it anew"});
  f("task", set.task);
  f("unit", set.unit);
  f("documents", set.documents);
  f("program_version", set.program_version);
  f("created", set.created);
  f("command_line", set.command_line);
  f("treatment", set.protocol.treatment);
  f("precision", set.protocol.precision);
  f("device", set.protocol.device);
  f("text_files", set.text.files);
  f("text_sha256", set.text.sha256);
  f("results", set.results);
}

namespace {

bool has_control(const AnswersSet& set) {
  return std::ranges::any_of(set.results, [](const AnswersResult& result) {
    return std::ranges::any_of(
        result.cells, [](const AnswersCell& cell) { return std::isfinite(cell.gain.mean); });
  });
}

std::string right_text(const AnswersCell& cell) {
  return cell.note.empty() ? fixed(100 * cell.share, 0) + " %" : "-";
}

// Of all results; one that is no number where the task has none.
std::vector<double> depths_of(const AnswersSet& set) {
  std::set<double> depths;
  for (const AnswersResult& result : set.results)
    for (const AnswersCell& cell : result.cells)
      if (std::isfinite(cell.depth)) depths.insert(cell.depth);
  if (depths.empty()) return {kNotMeasured};
  return {depths.begin(), depths.end()};
}

std::string depth_text(double depth) {
  return std::isfinite(depth) ? cat("depth ", fixed(100 * depth, 0), " %") : "right";
}

std::vector<std::int64_t> lengths_of(const AnswersResult& result) {
  std::set<std::int64_t> lengths;
  for (const AnswersCell& cell : result.cells) lengths.insert(cell.length);
  return {lengths.begin(), lengths.end()};
}

const AnswersCell* cell_at(const AnswersResult& result, std::int64_t length, double depth) {
  for (const AnswersCell& cell : result.cells) {
    const bool same = std::isfinite(depth) ? cell.depth == depth : !std::isfinite(cell.depth);
    if (cell.length == length && same) return &cell;
  }
  return nullptr;
}

// Of a length, over depths: the mean of what `value` takes of a cell, or why there is none.
template <class Value>
std::string mean_text(const AnswersResult& result, std::int64_t length, const Value& value,
                      std::string (*shown)(double)) {
  double sum = 0, cells = 0;
  for (const AnswersCell& cell : result.cells) {
    if (cell.length != length) continue;
    if (!cell.note.empty()) return cell.note;
    sum += value(cell);
    ++cells;
  }
  return shown(sum / cells);
}

std::string size_text(const AnswersResult& result, std::int64_t length) {
  return mean_text(
      result, length, [](const AnswersCell& cell) { return cell.size; },
      [](double mean) { return with_commas(std::llround(mean)); });
}

std::int64_t most_trials(const AnswersSet& set) {
  std::int64_t trials = 0;
  for (const AnswersResult& result : set.results)
    for (const AnswersCell& cell : result.cells) trials = std::max(trials, cell.trials);
  return trials;
}

std::string explained(const AnswersSet& set) {
  std::string text =
      cat("Task ", set.task, ". Share of answers of which every token was the likeliest, in ",
          most_trials(set), " texts");
  if (std::isfinite(depths_of(set).front())) text += ", by the depth of what is asked for";
  text += cat("; size in ", set.unit,
              "; loss: nats per token of the answers, each token after the right ones");
  if (has_control(set)) {
    text +=
        "; gain: nats per token of the key that stating it gains over stating another one (above "
        "0: "
        "something of it reached the end)";
  }
  if (std::isfinite(depths_of(set).front()))
    text += has_control(set) ? "; loss and gain are means over depths"
                             : "; the loss is a mean over depths";
  text += ". ";
  if (set.documents > 1)
    text += cat("Each text is ", set.documents, " documents with a key each. ");
  if (!set.protocol.treatment.empty()) text += set.protocol.treatment + " ";
  if (!set.text.files.empty()) text += cat("Around the keys: ", join(set.text.files, ", "), "; ");
  return text + cat(set.protocol.precision, ", ", set.protocol.device, ".");
}

// Shaded from white to the accent colour by the share that is right.
Json page_cell(const AnswersCell* cell) {
  if (cell == nullptr) return {{"right", ""}, {"shade", ""}};
  if (!cell->note.empty()) return {{"right", "-"}, {"shade", ""}};
  std::string range;
  if (std::isfinite(cell->share_low) && std::isfinite(cell->share_high))
    range = cat(fixed(100 * cell->share_low, 0), " to ", fixed(100 * cell->share_high, 0), " %");
  return {{"right", right_text(*cell)},
          {"shade", fixed(0.6 * cell->share, 2)},
          {"range", std::move(range)}};
}

// What stands behind a row's shares, each with its heading.
std::vector<std::pair<std::string, std::string>> row_figures(const AnswersSet& set,
                                                             const AnswersResult& result,
                                                             std::int64_t length) {
  std::vector<std::pair<std::string, std::string>> figures = {
      {"loss", mean_text(
                   result, length, [](const AnswersCell& cell) { return cell.loss.mean; },
                   [](double mean) { return fixed(mean, 3); })}};
  if (has_control(set)) {
    figures.emplace_back("gain",
                         mean_text(
                             result, length, [](const AnswersCell& cell) { return cell.gain.mean; },
                             [](double mean) { return signed_figure(mean); }));
  }
  return figures;
}

Json page_result(const AnswersSet& set, const AnswersResult& result) {
  Json rows = Json::list(), headings = Json::list();
  for (const double depth : depths_of(set)) headings.push_back(unbroken(depth_text(depth)));
  bool first = true;
  for (const std::int64_t length : lengths_of(result)) {
    Json cells = Json::list();
    for (const double depth : depths_of(set))
      cells.push_back(page_cell(cell_at(result, length, depth)));
    for (const auto& [heading, figure] : row_figures(set, result, length)) {
      cells.push_back({{"right", figure}, {"shade", ""}});
      if (first) headings.push_back(heading);
    }
    first = false;
    rows.push_back(
        {{"length", length}, {"size", size_text(result, length)}, {"cells", std::move(cells)}});
  }
  return {{"name", result.name},
          {"position", result.position},
          {"trained_length", result.trained_length},
          {"headings", std::move(headings)},
          {"rows", std::move(rows)}};
}

Json csv_row(const AnswersResult& result, const AnswersCell& cell) {
  Json row = to_json(result);
  row.erase("cells");
  row.update(to_json(cell));
  return row;
}

}  // namespace

std::string answers_table(const AnswersSet& set) {
  const Align right = Align::kRight;
  Table table{{{"model", Align::kLeft}, {"length", right}, {set.unit, right}}, {}};
  const std::vector<double> depths = depths_of(set);
  for (const double depth : depths) table.columns.push_back({depth_text(depth), right});
  table.columns.push_back({"loss", right});
  if (has_control(set)) table.columns.push_back({"gain", right});
  for (const AnswersResult& result : set.results) {
    if (!table.rows.empty()) table.rows.push_back({});
    for (const std::int64_t length : lengths_of(result)) {
      std::vector<std::string> row = {result.name, with_commas(length), size_text(result, length)};
      for (const double depth : depths) {
        const AnswersCell* cell = cell_at(result, length, depth);
        row.push_back(cell == nullptr ? "" : right_text(*cell));
      }
      for (const auto& [heading, figure] : row_figures(set, result, length)) row.push_back(figure);
      table.rows.push_back(std::move(row));
    }
  }
  return cat(format_table(table), "\n", explained(set), "\n");
}

Json answers_value(const AnswersSet& set) { return to_json(set); }

std::string answers_json(const AnswersSet& set) {
  return write_json(answers_value(set),
                    {.indent = 1, .levels = 4, .invalid_utf8 = JsonStyle::InvalidUtf8::kReplace}) +
         "\n";
}

AnswersSet parse_answers(std::string_view text, const std::string& place) {
  const Json json = parse_json(text, place);
  return read_record<AnswersSet>(JsonReader(json, place));
}

std::string answers_csv(const AnswersSet& set) {
  std::string text = csv_heading(csv_row({}, {}));
  for (const AnswersResult& result : set.results)
    for (const AnswersCell& cell : result.cells) text += csv_line(csv_row(result, cell));
  return text;
}

std::string answers_page(const AnswersSet& set, const std::string& title) {
  Json page =
      page_head(title.empty() ? "Answers: " + set.task : title,
                {"measured by alibi " + set.program_version, set.created}, set.command_line);
  Json results = Json::list();
  for (const AnswersResult& result : set.results) results.push_back(page_result(set, result));
  page.update({{"explained", explained(set)}, {"unit", set.unit}, {"results", std::move(results)}});
  return fill_page("answers.html", page);
}

}  // namespace alibi
