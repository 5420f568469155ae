#include "report/table.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr std::string_view kGap = "  ";

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t own = display_width(text);
  const std::string blanks(width > own ? width - own : 0, ' ');
  return align == Align::kLeft ? text + blanks : blanks + text;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (const TableColumn& column : table.columns) widths.push_back(display_width(column.title));
  for (const auto& row : table.rows) {
    ensure(row.size() <= table.columns.size(), "a table row has no more cells than columns");
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool runs_over = i + 1 == row.size() && row.size() < table.columns.size();
      if (!runs_over) widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  return widths;
}

std::string format_row(const Table& table, const std::vector<std::string>& row,
                       const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += kGap;
    const bool runs_over = i + 1 == row.size() && row.size() < table.columns.size();
    line += runs_over ? printable(row[i])
                      : padded(printable(row[i]), widths[i], table.columns[i].align);
  }
  end_line(line);
  return line;
}

}  // namespace

std::string format_table(const Table& table) {
  const std::vector<std::size_t> widths = column_widths(table);
  std::vector<std::string> titles;
  std::string rule;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    titles.push_back(table.columns[i].title);
    if (i > 0) rule += kGap;
    rule += std::string(widths[i], '-');
  }
  rule += '\n';
  std::string text = format_row(table, titles, widths) + rule;
  for (const auto& row : table.rows) text += row.empty() ? rule : format_row(table, row, widths);
  return text;
}

std::string format_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::size_t width = 0;
  for (const auto& [name, value] : pairs) width = std::max(width, display_width(name));
  std::string text;
  for (const auto& [name, value] : pairs) {
    std::string line = padded(printable(name) + ":", width + 1, Align::kLeft);
    line += cat(kGap, printable(value));
    end_line(line);
    text += line;
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !inside_character(c); }));
}

std::string with_commas(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string four_digits(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : significant(value, 4);
  const double size = std::abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return significant(value, 4);
  return fixed(value, size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3);
}

std::string percent(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  const double hundredths = fraction * 100;
  const double size = std::abs(hundredths);
  // Two digits where one would hide the sign of a small change.
  const std::string text = fixed(hundredths, size < 0.1 ? 2 : size < 999.95 ? 1 : 0);
  return (hundredths > 0 ? "+" : "") + text + " %";
}

std::string share_text(double share) {
  return std::isfinite(share) ? fixed(100 * share, 1) + " %" : "-";
}

std::string signed_figure(double value) {
  return std::isfinite(value) ? (value > 0 ? "+" : "") + fixed(value, 4) : "-";
}

std::string interval_text(double low, double high, std::string (*print)(double),
                          std::string_view between) {
  if (!std::isfinite(low) || !std::isfinite(high)) return "-";
  return cat(print(low), between, print(high));
}

std::string perplexity_text(double loss) {
  const double perplexity = std::exp(loss);
  return perplexity < 1e7 ? fixed(perplexity, 2) : significant(perplexity, 4);
}

std::string times(double multiple) {
  return (multiple < 1000 ? significant(multiple, 3) : with_commas(std::llround(multiple))) + "x";
}

}  // namespace alibi
