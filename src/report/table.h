// Text tables for terminals and logs: ASCII rules, columns two spaces apart, no trailing blanks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace alibi {

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string title;
  Align align = Align::kLeft;
};

// A row shorter than the columns lets its last cell run over the missing ones (a note that must not
// widen a column of figures). A row without cells is drawn as a rule. Longer rows are our fault.
struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

// Title line, rule, rows; each line ends with a newline. Control characters in cells become '?', so
// that a hostile file name cannot move the cursor.
std::string format_table(const Table& table);

// "name:  value" lines with the values below each other, in the order given.
std::string format_pairs(const std::vector<std::pair<std::string, std::string>>& pairs);

std::size_t display_width(std::string_view text);  // code points; wide glyphs count as one
std::string with_commas(std::int64_t value);       // 1048576 -> "1,048,576"
std::string perplexity_text(double loss);          // 3.5 -> "33.12", 40 -> "2.354e+17"
std::string four_digits(double value);    // 22.914 -> "22.91", 312.46 -> "312.5", nan -> "-"
std::string percent(double fraction);     // -0.0231 -> "-2.3 %", 0.0004 -> "+0.04 %"
std::string share_text(double share);     // 0.0589 -> "5.9 %", nan -> "-"
std::string times(double multiple);       // 4 -> "4x", 2.5 -> "2.5x"
std::string signed_figure(double value);  // 0.0123 -> "+0.0123", nan -> "-"
// "1.23 .. 4.56", or "-" where an end was not measured.
std::string interval_text(double low, double high, std::string (*print)(double),
                          std::string_view between = " .. ");

}  // namespace alibi
