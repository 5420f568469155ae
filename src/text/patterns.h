// Cuts text by the regular expressions of tokenizer.json files, with PCRE2.
//
// The files are written for Oniguruma. What differs is translated: \s is Unicode's white space
// (PCRE2 counts U+180E, too), ^ and $ stand at lines, a class within a class is a union, \p{NAME} a
// script; what is not known to mean the same (\w, \b, \h, (?i), (*VERB), [[:punct:]], {1,3}+) is
// refused. Letters and numbers are those of PCRE2's version of Unicode.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

class Patterns {
 public:
  // Throws Error at `place` for a pattern that does not compile or cannot be translated.
  Patterns(const std::vector<std::string>& oniguruma, const std::string& place);

  // All of `text` in order: each match and each stretch between two matches, cut again by the next
  // pattern. Bytes that are no UTF-8 match nothing. May be called from several threads. Throws
  // Error where a pattern takes unreasonably long.
  void cut(std::string_view text, const std::function<void(std::string_view)>& take) const;

 private:
  struct Compiled;
  void cut_from(std::size_t pattern, std::string_view text, bool valid,
                const std::function<void(std::string_view)>& take) const;
  std::vector<std::shared_ptr<const Compiled>> compiled_;
};

}  // namespace alibi
