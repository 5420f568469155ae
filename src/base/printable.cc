#include "base/printable.h"

#include "base/strings.h"

namespace alibi {

std::string printable(std::string_view text, std::size_t longest) {
  std::size_t end = text.size();
  if (end > longest) {
    end = longest;
    while (end > 0 && inside_character(text[end])) --end;
  }
  std::string shown;
  for (const char c : text.substr(0, end))
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return shown + (end < text.size() ? "..." : "");
}

std::string shown(std::string_view name) { return '"' + printable(name, 80) + '"'; }

}  // namespace alibi
