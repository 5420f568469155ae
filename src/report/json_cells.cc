#include "report/json_cells.h"

#include <cmath>

#include "report/curve_files.h"

namespace alibi::cells {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json object(const Cells& cells) {
  Json result = Json::object();
  for (const auto& [name, value] : cells) result[name] = value;
  return result;
}

std::string csv_text(const Json& value) {
  if (value.is_null()) return "";
  return csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace alibi::cells
