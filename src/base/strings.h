// Small text helpers that every folder needs; no formatting library passes through headers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

// A part of cat without its type: else each combination of types would be compiled anew.
struct StreamedPart {
  const void* value;
  void (*write)(std::ostream& out, const void* value);
};

template <class Part>
StreamedPart streamed_part(const Part& part) {
  return {&part,
          [](std::ostream& out, const void* value) { out << *static_cast<const Part*>(value); }};
}
StreamedPart streamed_part(const char* text);

std::string cat_parts(std::initializer_list<StreamedPart> parts);

// Concatenates anything that can be streamed: cat("row ", 7, " of ", 9).
template <class... Parts>
std::string cat(const Parts&... parts) {
  return cat_parts({streamed_part(parts)...});
}

std::string fixed(double value, int digits);        // 3.14159, 2 -> "3.14"; "nan", "inf" spelled
std::string significant(double value, int digits);  // shortest form with at most that many digits
std::string human_count(double value);              // 29400000 -> "29.4M"
std::string human_bytes(double bytes);              // 1536 -> "1.5 KiB"
// "12GiB", "1.5 GB", "800000": bytes, by powers of 1024 (KiB) or of 1000 (KB). Nothing for others.
std::optional<std::int64_t> parse_bytes(std::string_view text);
std::string human_seconds(double seconds);                          // 3725 -> "1 h 2 min"
std::string zero_padded(std::uint64_t number, std::size_t digits);  // 42, 5 -> "00042"
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string first_line(const std::string& text);  // of what a library threw: others hold its stack
std::vector<std::string> split(std::string_view text, char separator);  // keeps empty parts
std::string lower_hex(std::span<const unsigned char> bytes);

// The candidate nearest to `word` by edit distance, or "" when none is close enough to suggest.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// As one word of a shell's command: as it is, else between single quotes.
std::string quoted_for_shell(const std::string& text);
std::string shell_command(const std::vector<std::string>& words);  // quoted, with spaces between

// `text` as a regular expression (PCRE2's or Oniguruma's) that matches it and nothing else.
std::string literal_pattern(std::string_view text);

// Of UTF-8: a byte that continues a character, not one that begins it.
constexpr bool inside_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Position of the first byte that is not part of valid UTF-8 (RFC 3629), or npos.
std::size_t first_invalid_utf8(std::string_view text);

}  // namespace alibi
