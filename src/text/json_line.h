// One line of a .jsonl file (text/documents.h says what it may hold) as a document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

struct LineDocument {
  std::string id;                       // the key "id", else the place
  std::string text;                     // may be empty
  std::vector<std::size_t> turns = {};  // DocumentView::turns
};

// Errors name the place: a line that is too long, invalid UTF-8 (with its byte), invalid JSON, a
// text missing or no string, a prompt without completion.
LineDocument read_line(std::string_view line, const std::string& place);

// The reference, which takes every line that has no fault.
LineDocument read_any_line(std::string_view line, const std::string& place);

// The same by simdjson, many times faster: of an object with a string under "text". Nothing where
// the line is another or has a fault.
std::optional<LineDocument> read_text_line(std::string_view line, const std::string& place);

// Throws where the line has more bytes than a line may have.
void check_line_length(std::size_t bytes, const std::string& place);
void check_utf8(std::string_view text, const std::string& place);

}  // namespace alibi
