#include "base/printable.h"

#include <array>
#include <charconv>

#include "base/strings.h"

namespace alibi {

std::string printable(std::string_view text, std::size_t longest) {
  std::size_t end = text.size();
  if (end > longest) {
    end = longest;
    while (end > 0 && inside_character(text[end])) --end;
  }
  std::string shown;
  for (std::size_t i = 0; i < end; ++i) {
    const char c = text[i];
    // U+0080 to U+009F are control characters, too: some terminals obey them.
    const bool two = c == '\xc2' && i + 1 < end && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f || two ? '?' : c;
    i += two ? 1 : 0;
  }
  return shown + (end < text.size() ? "..." : "");
}

std::string shown(double number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr};
}

std::string shown(std::string_view name) { return '"' + printable(name, 80) + '"'; }

}  // namespace alibi
