#include "base/strings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <sstream>

namespace alibi {
namespace {

std::string print(const char* format, int digits, double value) {
  char buffer[64];
  int written = std::snprintf(buffer, sizeof buffer, format, digits, value);
  if (written > 63) written = std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return std::string(buffer, static_cast<std::size_t>(std::clamp(written, 0, 63)));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

// Length of the valid UTF-8 sequence at the front of `text`, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!inside_character(text[i])) return 0;
  }
  const unsigned second = byte(1);
  // Overlong forms, surrogates and code points above U+10FFFF.
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

}  // namespace

StreamedPart streamed_part(const char* text) {
  return {text,
          [](std::ostream& out, const void* value) { out << static_cast<const char*>(value); }};
}

std::string cat_parts(std::initializer_list<StreamedPart> parts) {
  std::ostringstream out;
  for (const StreamedPart& part : parts) part.write(out, part.value);
  return out.str();
}

// Never "-nan", whose sign says nothing.
std::string fixed(double value, int digits) {
  return std::isnan(value) ? "nan" : print("%.*f", digits, value);
}

std::string significant(double value, int digits) {
  return std::isnan(value) ? "nan" : print("%.*g", digits, value);
}

std::string human_count(double value) {
  const char* units[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  return significant(value, 3) + units[unit];
}

std::string human_bytes(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return fixed(bytes, unit == 0 || bytes >= 100 ? 0 : 1) + " " + units[unit];
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || !(number > 0)) return std::nullopt;
  std::string_view unit(result.ptr,
                        static_cast<std::size_t>(text.data() + text.size() - result.ptr));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.ends_with('B')) unit.remove_suffix(1);
  double base = 1000;
  if (unit.ends_with('i')) {
    base = 1024;
    unit.remove_suffix(1);
    if (unit.empty()) return std::nullopt;
  }
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit.front()) + 1;
  if (unit.size() > 1 || (!unit.empty() && power == 0)) return std::nullopt;
  const double bytes = number * std::pow(base, static_cast<double>(power));
  if (bytes < 1 || bytes > 9e18) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

std::string human_seconds(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "unknown";
  if (seconds < 10) return fixed(seconds, 1) + " s";
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 120) return cat(whole, " s");
  if (whole < 7200) return cat(whole / 60, " min ", whole % 60, " s");
  return cat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

std::string zero_padded(std::uint64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string lower_hex(std::span<const unsigned char> bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

namespace {

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  // A third of the letters may be wrong: "sequnce_lenght" finds its way, "foo" does not. Of short
  // words the first is right: "hats" may be "heads", "rope" is not "none".
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string best;
  constexpr std::size_t kTelling = 3;  // letters that a longer name begins with
  const std::string small = lower_case(std::string(word));
  for (const std::string& candidate : candidates) {
    const std::string name = lower_case(candidate);
    const bool begins = small.size() >= kTelling && name.starts_with(small);
    if (small.size() < 5 && !begins && name.substr(0, 1) != small.substr(0, 1)) continue;
    const std::size_t distance = begins ? 0 : edit_distance(small, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string quoted_for_shell(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./+=:,@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(quoted_for_shell(word));
  return join(quoted, " ");
}

std::string literal_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool ascii = static_cast<unsigned char>(c) < 0x80;
    if (ascii && std::isalnum(static_cast<unsigned char>(c)) == 0) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = sequence_length(text.substr(at, 4));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace alibi
