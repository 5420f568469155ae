// JSON without surprises: duplicate keys, deep nesting and trailing text are refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace alibi {

struct JsonFault {
  std::string pointer;
  std::string problem;
};

// Parses `text`, comments allowed. On faults the value is null and `faults` says why.
nlohmann::ordered_json parse_strict(const std::string& text, std::vector<JsonFault>& faults);

// A key as a part of a JSON pointer (RFC 6901): "~" and "/" escaped.
std::string pointer_part(const std::string& key);

// What was found, for messages, cut short: "x" with its quotes, 4.7, "an object".
std::string describe(const nlohmann::ordered_json& value);

}  // namespace alibi
