#include "report/csv.h"

#include "base/json/write.h"
#include "base/strings.h"

namespace alibi {
namespace {

std::string cell_of(const Json& value) {
  if (const std::string* text = value.as_string()) return csv_cell(*text);
  const std::string text = write_json(value);
  return text == "null" ? "" : text;
}

}  // namespace

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_heading(const Json& row) {
  std::vector<std::string> keys;
  for (const JsonMember& member : *row.as_object()) keys.push_back(csv_cell(member.key));
  return join(keys, ",") + "\n";
}

std::string csv_line(const Json& row) {
  std::vector<std::string> cells;
  for (const JsonMember& member : *row.as_object()) cells.push_back(cell_of(member.value));
  return join(cells, ",") + "\n";
}

}  // namespace alibi
