// What the report files share: named cells, which a JSON object and a line of CSV are made of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace alibi::cells {

using Json = nlohmann::ordered_json;

// A figure, a count, a flag or a text under each name.
using Cells = std::vector<std::pair<const char*, Json>>;

Json number(double value);  // null unless finite
Json object(const Cells& cells);
std::string csv_text(const Json& value);  // one cell, quoted where it must be; null is empty

}  // namespace alibi::cells
