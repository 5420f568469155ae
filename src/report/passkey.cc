#include "report/passkey.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json/write.h"
#include "base/strings.h"
#include "report/csv.h"
#include "report/page_parts.h"
#include "report/table.h"
#include "report/template.h"

namespace alibi {
namespace {

Json head_of(const PasskeySet& set) {
  return {{"format_version", 1},
          {"kind", "passkey"},
          {"program_version", set.program_version},
          {"created", set.created},
          {"command_line", set.command_line},
          {"documents", set.documents},
          {"treatment", set.protocol.treatment},
          {"precision", set.protocol.precision},
          {"device", set.protocol.device},
          {"text_files", join(set.text.files, ", ")},
          {"text_sha256", set.text.sha256}};
}

Json cell_object(const PasskeyResult& result, const PasskeyCell& cell, bool with_figures) {
  Json object = {{"name", result.name},
                 {"position", result.position},
                 {"checkpoint", result.checkpoint},
                 {"trained_length", result.trained_length},
                 {"length", cell.length},
                 {"depth", cell.depth},
                 {"note", cell.note}};
  if (!with_figures) return object;
  object.update({{"trials", cell.trials},
                 {"found", cell.found},
                 {"share_low", cell.share_low},
                 {"share_high", cell.share_high},
                 {"gain", cell.gain.mean},
                 {"gain_low", cell.gain.low},
                 {"gain_high", cell.gain.high}});
  return object;
}

double share(const PasskeyCell& cell) {
  return static_cast<double>(cell.found) / static_cast<double>(cell.trials);
}

std::string found_text(const PasskeyCell& cell) {
  return cell.note.empty() ? fixed(100 * share(cell), 0) + " %" : "-";
}

std::vector<double> depths_of(const PasskeySet& set) {
  std::set<double> depths;
  for (const PasskeyResult& result : set.results)
    for (const PasskeyCell& cell : result.cells) depths.insert(cell.depth);
  return {depths.begin(), depths.end()};
}

std::vector<std::int64_t> lengths_of(const PasskeyResult& result) {
  std::set<std::int64_t> lengths;
  for (const PasskeyCell& cell : result.cells) lengths.insert(cell.length);
  return {lengths.begin(), lengths.end()};
}

const PasskeyCell* cell_at(const PasskeyResult& result, std::int64_t length, double depth) {
  for (const PasskeyCell& cell : result.cells)
    if (cell.length == length && cell.depth == depth) return &cell;
  return nullptr;
}

// The gain of a whole row: why it is empty, or its mean gain.
std::string gain_text(const PasskeyResult& result, std::int64_t length) {
  double gain = 0, cells = 0;
  for (const PasskeyCell& cell : result.cells) {
    if (cell.length != length) continue;
    if (!cell.note.empty()) return cell.note;
    gain += cell.gain.mean;
    ++cells;
  }
  return signed_figure(gain / cells);
}

std::int64_t most_trials(const PasskeySet& set) {
  std::int64_t trials = 0;
  for (const PasskeyResult& result : set.results)
    for (const PasskeyCell& cell : result.cells) trials = std::max(trials, cell.trials);
  return trials;
}

std::string explained(const PasskeySet& set) {
  std::string text =
      cat("Share of ", most_trials(set),
          " texts whose key was given back whole, by the depth at which it is stated; gain: nats "
          "per token of the key that stating it gains over stating another one (above 0: "
          "something of it reached the end), mean over depths. ");
  if (set.documents > 1)
    text += cat("Each text is ", set.documents, " documents with a key each. ");
  if (!set.protocol.treatment.empty()) text += set.protocol.treatment + " ";
  return text + cat("Around the keys: ", join(set.text.files, ", "), "; ", set.protocol.precision,
                    ", ", set.protocol.device, ".");
}

// Shaded from white to the accent colour by the share found.
Json page_cell(const PasskeyCell* cell) {
  if (cell == nullptr) return {{"found", ""}, {"shade", ""}};
  if (!cell->note.empty()) return {{"found", "-"}, {"shade", ""}};
  return {{"found", found_text(*cell)},
          {"shade", fixed(0.6 * share(*cell), 2)},
          {"range",
           cat(fixed(100 * cell->share_low, 0), " to ", fixed(100 * cell->share_high, 0), " %")}};
}

Json page_result(const PasskeySet& set, const PasskeyResult& result) {
  Json rows = Json::list(), depths = Json::list();
  for (const double depth : depths_of(set))
    depths.push_back(unbroken(fixed(100 * depth, 0) + " %"));
  for (const std::int64_t length : lengths_of(result)) {
    Json cells = Json::list();
    for (const double depth : depths_of(set))
      cells.push_back(page_cell(cell_at(result, length, depth)));
    rows.push_back(
        {{"length", length}, {"cells", std::move(cells)}, {"gain", gain_text(result, length)}});
  }
  return {{"name", result.name},
          {"position", result.position},
          {"trained_length", result.trained_length},
          {"depths", std::move(depths)},
          {"rows", std::move(rows)}};
}

}  // namespace

std::string passkey_table(const PasskeySet& set) {
  const Align right = Align::kRight;
  Table table{{{"model", Align::kLeft}, {"length", right}}, {}};
  const std::vector<double> depths = depths_of(set);
  for (const double depth : depths)
    table.columns.push_back({cat("depth ", fixed(100 * depth, 0), " %"), right});
  table.columns.push_back({"gain", right});
  for (const PasskeyResult& result : set.results) {
    if (!table.rows.empty()) table.rows.push_back({});
    for (const std::int64_t length : lengths_of(result)) {
      std::vector<std::string> row = {result.name, with_commas(length)};
      for (const double depth : depths) {
        const PasskeyCell* cell = cell_at(result, length, depth);
        row.push_back(cell == nullptr ? "" : found_text(*cell));
      }
      row.push_back(gain_text(result, length));
      table.rows.push_back(std::move(row));
    }
  }
  return cat(format_table(table), "\nfound: share of ", most_trials(set),
             " texts, by depth of the key; gain: nats per token from the stated key\ntext: ",
             join(set.text.files, ", "), "; ", set.protocol.precision, ", ", set.protocol.device,
             "\n");
}

std::string passkey_json(const PasskeySet& set) {
  JsonStyle style = kLogLine;  // and each member and each cell on a line of its own
  style.indent = 1;
  style.levels = 2;
  Json json = head_of(set);
  json["cells"] = Json::list();
  for (const PasskeyResult& result : set.results)
    for (const PasskeyCell& cell : result.cells)
      json["cells"].push_back(cell_object(result, cell, cell.note.empty()));
  return write_json(json, style) + "\n";
}

std::string passkey_csv(const PasskeySet& set) {
  std::string text = csv_heading(cell_object({}, {}, true));
  for (const PasskeyResult& result : set.results)
    for (const PasskeyCell& cell : result.cells) text += csv_line(cell_object(result, cell, true));
  return text;
}

std::string passkey_page(const PasskeySet& set, const std::string& title) {
  Json page =
      page_head(title.empty() ? "A key hidden in a long text" : title,
                {"measured by alibi " + set.program_version, set.created,
                 cat(set.documents, set.documents == 1 ? " document" : " documents", " a text")},
                set.command_line);
  Json results = Json::list();
  for (const PasskeyResult& result : set.results) results.push_back(page_result(set, result));
  page.update({{"explained", explained(set)}, {"results", std::move(results)}});
  return fill_page("passkey.html", page);
}

}  // namespace alibi
