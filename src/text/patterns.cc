#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/patterns.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr const char* kWhiteSpace =
    "\\t-\\r "
    "\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
// A sound pattern needs a few steps a character; these bound a hostile match to about a second.
constexpr std::uint32_t kMostSteps = 10'000'000;
constexpr std::uint32_t kMostHeapKiB = 64 * 1024;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Patterns::Compiled {
  pcre2_code* code = nullptr;
  pcre2_code* code_for_valid = nullptr;  // where `code` is not compiled to machine code
  pcre2_match_context* limits = nullptr;
  std::string shown;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    pcre2_match_context_free(limits);
    pcre2_code_free(code_for_valid);
    pcre2_code_free(code);
  }
};

namespace {

// Walks over a pattern and writes PCRE2's. What is not known to mean the same in both is refused.
class Translation {
 public:
  Translation(std::string_view pattern, const std::string& place)
      : pattern_(pattern), place_(place) {}

  std::string run() {
    for (; at_ < pattern_.size(); ++at_) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (c == '[') {
        open_class();
      } else if (depth_ > 0) {
        inside_class(c);
      } else {
        outside_class(c);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(place_, cat("pattern ", pattern_, " has ", what,
                            ", which means different things to different programs"));
  }
  bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  void escape() {
    if (++at_ == pattern_.size()) refuse("a lonely \\");
    const char letter = pattern_[at_];
    const bool alphanumeric = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (letter == 's' && depth_ > 0) {
      out_ += kWhiteSpace;
    } else if (letter == 's' || (letter == 'S' && depth_ == 0)) {
      out_ += cat(letter == 's' ? "[" : "[^", kWhiteSpace, "]");
    } else if (letter == 'p' || letter == 'P') {
      property(letter);
    } else if (!alphanumeric || std::string_view("rntfd").find(letter) != std::string_view::npos ||
               next_is("x{")) {
      (out_ += '\\') += letter;
    } else {
      refuse(cat("\\", letter, depth_ > 0 ? " in a class" : ""));
    }
  }

  // General categories mean the same; a name is a script, which PCRE2 would take in a wider sense.
  void property(char letter) {
    const std::size_t close = pattern_.find('}', at_);
    if (at_ + 1 >= pattern_.size() || pattern_[at_ + 1] != '{' || close == std::string_view::npos)
      refuse(cat("\\", letter));
    const std::string_view name = pattern_.substr(at_ + 2, close - at_ - 2);
    out_ += cat("\\", letter, "{", name.size() > 2 ? "sc:" : "", name, "}");
    at_ = close;
  }

  void open_class() {
    if (depth_ > 0 && next_is("[:")) refuse("a class in [: :]");
    const bool negated = next_is("[^");
    if (depth_ > 0 && negated) refuse("a negated class within a class");
    if (depth_++ == 0) out_ += negated ? "[^" : "[";
    at_ += negated ? 1 : 0;
    if (at_ + 1 < pattern_.size() && pattern_[at_ + 1] == ']') {  // closed at once: a character
      out_ += "\\]";
      ++at_;
    }
  }

  void inside_class(char c) {
    if (next_is("&&")) refuse("an intersection of classes");
    if (c != ']' || --depth_ == 0) out_ += c;
  }

  void outside_class(char c) {
    const bool option = next_is("(?") && !next_is("(?:") && !next_is("(?=") && !next_is("(?!") &&
                        !next_is("(?<=") && !next_is("(?<!") && !next_is("(?>") && !next_is("(?i:");
    if (option) refuse(cat(pattern_.substr(at_, 4)));
    if (next_is("(*")) refuse("(*");  // a verb of PCRE2's
    if (next_is("}+")) refuse("}+");
    if (next_is("{,")) refuse("{,");
    out_ += c;
  }

  std::string_view pattern_;
  const std::string& place_;
  std::string out_;
  std::size_t at_ = 0, depth_ = 0;
};

}  // namespace

Patterns::Patterns(const std::vector<std::string>& oniguruma, const std::string& place) {
  for (const std::string& pattern : oniguruma) {
    auto compiled = std::make_shared<Compiled>();
    compiled->shown = pattern;
    const std::string translated = Translation(pattern, place).run();
    const auto compile = [&](std::uint32_t option) {
      int fault = 0;
      PCRE2_SIZE at = 0;
      pcre2_code* const code =
          pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | option, &fault, &at, nullptr);
      if (code == nullptr) throw Error(place, cat("pattern ", pattern, ": ", message_of(fault)));
      return code;
    };
    compiled->code = compile(PCRE2_MATCH_INVALID_UTF);
    // Without it, as where memory that is written must not be run, each match would check the rest
    // of the text for UTF-8 again.
    if (pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE) != 0)
      compiled->code_for_valid = compile(0);
    compiled->limits = pcre2_match_context_create(nullptr);
    ensure(compiled->limits != nullptr, "there is memory for a few numbers");
    pcre2_set_match_limit(compiled->limits, kMostSteps);
    pcre2_set_heap_limit(compiled->limits, kMostHeapKiB);
    compiled_.push_back(std::move(compiled));
  }
}

void Patterns::cut(std::string_view text, const std::function<void(std::string_view)>& take) const {
  const bool checks = std::ranges::any_of(
      compiled_, [](const auto& compiled) { return compiled->code_for_valid != nullptr; });
  cut_from(0, text, checks && first_invalid_utf8(text) == text.npos, take);
}

void Patterns::cut_from(std::size_t pattern, std::string_view text, bool valid,
                        const std::function<void(std::string_view)>& take) const {
  if (text.empty()) return;
  if (pattern == compiled_.size()) return take(text);
  const Compiled& compiled = *compiled_[pattern];
  const bool unchecked = valid && compiled.code_for_valid != nullptr;
  const pcre2_code* const code = unchecked ? compiled.code_for_valid : compiled.code;
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
  ensure(match != nullptr, "there is memory for a match");
  std::size_t done = 0, from = 0;
  while (from < text.size()) {
    const auto match_with = [&](std::uint32_t flags) {
      return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, flags,
                         match.get(), compiled.limits);
    };
    int found = match_with(unchecked ? PCRE2_NO_UTF_CHECK : 0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match_with(PCRE2_NO_JIT);  // on the heap
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) throw Error(cat("pattern ", compiled.shown), message_of(found));
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(match.get());
    if (ends[1] == ends[0]) {  // an empty match is a cut, too
      if (ends[0] > done) cut_from(pattern + 1, text.substr(done, ends[0] - done), valid, take);
      done = ends[0];
      from = ends[1] + 1;
      while (from < text.size() && inside_character(text[from])) ++from;
      continue;
    }
    if (ends[0] > done) cut_from(pattern + 1, text.substr(done, ends[0] - done), valid, take);
    cut_from(pattern + 1, text.substr(ends[0], ends[1] - ends[0]), valid, take);
    done = from = ends[1];
  }
  if (done < text.size()) cut_from(pattern + 1, text.substr(done), valid, take);
}

}  // namespace alibi
