// Checks of messages by what they name: the place, the values, the keys. Their sentences may
// change.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {

// The message of the Error that `call` throws; fails the test when it throws none.
template <class Call>
std::string error_text(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "expected an Error";
  return "";
}

// Whether `text` holds `value` as a word or number of its own: 7 is not in "17", "7.5", "-7", "7x".
inline bool has_word(std::string_view text, std::string_view value) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  if (value.empty()) return false;
  for (std::size_t at = text.find(value); at != text.npos; at = text.find(value, at + 1)) {
    const std::string_view before = text.substr(0, at), after = text.substr(at + value.size());
    const bool cut_before =
        !before.empty() &&
        ((word(value.front()) && word(before.back())) ||
         (digit(value.front()) && (before.back() == '.' || before.back() == '-')));
    const bool cut_after =
        !after.empty() &&
        ((word(value.back()) && word(after.front())) ||
         (digit(value.back()) && after.front() == '.' && after.size() > 1 && digit(after[1])));
    if (!cut_before && !cut_after) return true;
  }
  return false;
}

// Whether `line` is a message about `place`: the whole of it, or its end (a file's name, a
// pointer).
inline bool is_about(std::string_view line, const std::string& place) {
  const std::size_t at = line.find(place + ": ");
  return at == 0 || (at != line.npos && (line[at - 1] == '/' || line[at - 1] == ' '));
}

// The way out at the end of a message, "place: problem (way out)"; "" when it has none.
inline std::string way_out_of(const std::string& message) {
  const std::size_t begin = message.rfind(" (");
  return begin == std::string::npos ? "" : message.substr(begin);
}

template <class... Values>
testing::AssertionResult names_values(const std::string& text, const std::string& place,
                                      const Values&... values) {
  const std::vector<std::string> wanted = {cat(values)...};
  for (const std::string& line : split(text, '\n')) {
    const bool has_all = std::ranges::all_of(
        wanted, [&](const std::string& value) { return has_word(line, value); });
    if (has_all && (place.empty() || is_about(line, place))) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "no line" << (place.empty() ? "" : " about " + place)
                                     << " with [" << join(wanted, "] [") << "] in:\n"
                                     << text;
}

// One line of the text (a message, or what the program printed) names every value as has_word does.
#define EXPECT_NAMES(text, ...) EXPECT_TRUE(names_values(text, "", __VA_ARGS__))

// EXPECT_ERROR_AT(text, place, values...): a line "place: ..." names every value.
#define EXPECT_ERROR_AT(text, ...) EXPECT_TRUE(names_values(text, __VA_ARGS__))

// A short key word, for errors that share place and values with another one.
#define EXPECT_KEYWORD(text, word) EXPECT_NE((text).find(word), std::string::npos) << (text)

}  // namespace alibi
