// The one writer of JSON text.
#pragma once

#include <string>

#include "base/json/value.h"

namespace alibi {

struct JsonStyle {
  int indent = -1;  // spaces a level, each member or item on a line of its own; -1: all on one line
  int levels = 1000;    // outermost levels that are written so; those below take one line each
  bool spaced = false;  // on one line, a space behind ',' and ':'
  bool sorted = false;  // keys in the order of their bytes
  bool ascii = false;   // characters beyond ASCII as \uXXXX
  enum class NotFinite { kNull, kWord } not_finite = NotFinite::kNull;  // "nan", "inf", "-inf"
  enum class InvalidUtf8 { kRefuse, kReplace } invalid_utf8 = InvalidUtf8::kRefuse;  // by U+FFFD
};

// A line of a log.
inline constexpr JsonStyle kLogLine{.not_finite = JsonStyle::NotFinite::kWord,
                                    .invalid_utf8 = JsonStyle::InvalidUtf8::kReplace};

// Without a newline at its end. Numbers are the shortest that read back as the same; a double has a
// point or an exponent. Throws Error for text that is not UTF-8, where that is refused.
std::string write_json(const Json& json, const JsonStyle& style = {});

// What a value is, for messages, cut short: "x" with its quotes, 4.7, an object.
std::string describe(const Json& value);

}  // namespace alibi
