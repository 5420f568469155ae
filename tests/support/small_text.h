// Made-up text with words of uneven frequency, indented code and line ends: enough for a tokenizer
// to learn from, the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "base/random.h"

namespace alibi {

inline std::string made_up_word(std::uint64_t rank) {
  static const char* const syllables[] = {"ka", "lo", "mi", "ter", "an",
                                          "es", "qu", "th", "ing", "or"};
  std::string word;
  for (std::uint64_t rest = rank + 3; rest > 0; rest /= 10) word += syllables[rest % 10];
  return word;
}

inline std::string small_text(std::size_t bytes, std::uint64_t seed = 0) {
  const RandomKey key = RandomKey{seed}.with("small text");
  std::string text;
  for (std::uint64_t i = 0; text.size() < bytes; ++i) {
    const double u = uniform(key, 2 * i);
    text += made_up_word(static_cast<std::uint64_t>(std::exp(u * 6.2)) - 1);
    const double v = uniform(key, 2 * i + 1);
    if (v < 0.08)
      text += ".\n";
    else if (v < 0.12)
      text += " = {\n        ";
    else if (v < 0.15)
      text += "():\n\n    ";
    else if (v < 0.16)
      text += "\t";
    else if (v < 0.17)
      text += " \xc3\xa9t\xc3\xa9 42 ";
    else
      text += " ";
  }
  text.resize(bytes);
  while (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80) text.pop_back();
  return text;
}

}  // namespace alibi
