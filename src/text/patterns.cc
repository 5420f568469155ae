#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/patterns.h"

#include <pcre2.h>

#include <array>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr const char* kWhiteSpace =
    "\\t-\\r "
    "\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
// A sound pattern needs a few steps a character; these bound a hostile one to about a second.
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
  pcre2_match_context* limits = nullptr;
  std::string shown;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    pcre2_match_context_free(limits);
    pcre2_code_free(code);
  }
};

std::string to_pcre(std::string_view pattern, const std::string& place) {
  std::string out;
  std::size_t depth = 0;  // of classes
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char letter = pattern[++i];
      if (letter == 's' && depth > 0) {
        out += kWhiteSpace;
      } else if (letter == 's' || (letter == 'S' && depth == 0)) {
        out += cat(letter == 's' ? "[" : "[^", kWhiteSpace, "]");
      } else {
        (out += c) += letter;
      }
    } else if (c == '[') {
      const bool negated = i + 1 < pattern.size() && pattern[i + 1] == '^';
      if (depth > 0 && negated)
        throw Error(place, cat("pattern ", pattern, " has a negated class within a class"));
      if (depth++ == 0) out += negated ? "[^" : "[";
      i += negated ? 1 : 0;
      // A bracket that closes right away is a character.
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') {
        out += "\\]";
        ++i;
      }
    } else if (c == ']' && depth > 0) {
      if (--depth == 0) out += c;
    } else if (depth > 0 && c == '&' && pattern.substr(i).starts_with("&&")) {
      throw Error(place, cat("pattern ", pattern, " intersects classes"));
    } else {
      out += c;
    }
  }
  return out;
}

Patterns::Patterns(const std::vector<std::string>& oniguruma, const std::string& place) {
  for (const std::string& pattern : oniguruma) {
    auto compiled = std::make_shared<Compiled>();
    compiled->shown = pattern;
    const std::string translated = to_pcre(pattern, place);
    int fault = 0;
    PCRE2_SIZE at = 0;
    compiled->code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &fault, &at, nullptr);
    if (compiled->code == nullptr)
      throw Error(place, cat("pattern ", pattern, ": ", message_of(fault)));
    pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);  // without it, slower
    compiled->limits = pcre2_match_context_create(nullptr);
    ensure(compiled->limits != nullptr, "there is memory for a few numbers");
    pcre2_set_match_limit(compiled->limits, kMostSteps);
    pcre2_set_heap_limit(compiled->limits, kMostHeapKiB);
    compiled_.push_back(std::move(compiled));
  }
}

void Patterns::cut(std::string_view text, const std::function<void(std::string_view)>& take) const {
  cut_from(0, text, take);
}

void Patterns::cut_from(std::size_t pattern, std::string_view text,
                        const std::function<void(std::string_view)>& take) const {
  if (text.empty()) return;
  if (pattern == compiled_.size()) return take(text);
  const Compiled& compiled = *compiled_[pattern];
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(compiled.code, nullptr), &pcre2_match_data_free);
  ensure(match != nullptr, "there is memory for a match");
  std::size_t done = 0, from = 0;
  while (from < text.size()) {
    const auto match_with = [&](std::uint32_t flags) {
      return pcre2_match(compiled.code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                         from, flags, match.get(), compiled.limits);
    };
    int found = match_with(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match_with(PCRE2_NO_JIT);  // on the heap
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) throw Error(cat("pattern ", compiled.shown), message_of(found));
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(match.get());
    if (ends[1] == ends[0]) {  // an empty match cuts nothing
      from = ends[1] + 1;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
      continue;
    }
    if (ends[0] > done) cut_from(pattern + 1, text.substr(done, ends[0] - done), take);
    cut_from(pattern + 1, text.substr(ends[0], ends[1] - ends[0]), take);
    done = from = ends[1];
  }
  if (done < text.size()) cut_from(pattern + 1, text.substr(done), take);
}

}  // namespace alibi
