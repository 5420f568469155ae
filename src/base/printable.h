// Text out of files, as messages and logs may show it.
#pragma once

#include <string>
#include <string_view>

namespace alibi {

// Control characters become '?', what is longer than `longest` bytes is cut between two characters
// and ends in "...".
std::string printable(std::string_view text, std::size_t longest = std::string_view::npos);

// A name out of a file: quoted, printable, at most 80 bytes.
std::string shown(std::string_view name);

// As few digits as tell the number from every other: 0.25, 2, 1e+20.
std::string shown(double number);

}  // namespace alibi
