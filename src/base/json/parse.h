// The one reader of JSON text: no duplicate keys, bounded nesting and memory, nothing behind the
// value. It never recurses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"

namespace alibi {

struct JsonOptions {
  std::size_t depth = 8;           // lists and objects inside each other
  std::size_t values = 1'000'000;  // a value takes about 100 bytes of memory
  bool comments = false;           // as in C and C++
  bool any_value = false;          // else the first byte must be '{'
};

struct JsonFault {
  std::string pointer;  // of a duplicate key, or of what is nested too deeply; else empty
  std::string problem;  // with line and column where the text is no JSON
};

// Nothing where a fault was found. Several faults: each duplicate key, up to a limit.
std::optional<Json> parse_json(std::string_view text, const JsonOptions& options,
                               std::vector<JsonFault>& faults);

// Throws Error "place: /pointer" with the first fault.
Json parse_json(std::string_view text, const std::string& place, const JsonOptions& options = {});

}  // namespace alibi
