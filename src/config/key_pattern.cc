#include "config/key_pattern.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "config/model_config.h"

namespace alibi {
namespace {

constexpr std::int64_t kMost = 1 << 24;  // the longest batch.sequence_length

constexpr const char* kExpected =
    "expected parts joined by +: all, window(W), dilated(W, D), strided(S), fixed(S, C), "
    "blockwise(B), global(G), random(R), or lsh(B, M, R) alone; before them \"layers 0,2-3 heads "
    "4-7:\" where not all are "
    "meant";

// What the text is read from, from its beginning.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    skip_spaces();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool at_end() {
    skip_spaces();
    return text_.empty();
  }
  std::string name() {
    skip_spaces();
    const auto end = std::find_if_not(text_.begin(), text_.end(), [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0;
    });
    const std::string word(text_.begin(), end);
    text_.remove_prefix(word.size());
    return word;
  }
  std::optional<std::int64_t> number() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, fault] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (fault != std::errc() || value < 0 || value > kMost) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

 private:
  void skip_spaces() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }
  std::string_view text_;
};

// "0,2-3"
bool read_list(Words& words, std::vector<std::int64_t>& list) {
  do {
    const auto first = words.number();
    if (!first) return false;
    const auto last = words.take("-") ? words.number() : first;
    if (!last || *last < *first || *last > 1024) return false;  // the most layers and heads
    for (std::int64_t i = *first; i <= *last; ++i) list.push_back(i);
    if (list.size() > 4 * 1025) return false;  // memory for what repeats itself
  } while (words.take(","));
  return true;
}

// "(3, 4)": so many numbers, each 1 or more.
std::optional<std::vector<std::int64_t>> read_numbers(Words& words, std::size_t count) {
  std::vector<std::int64_t> numbers;
  if (!words.take("(")) return std::nullopt;
  do {
    const auto number = words.number();
    if (!number || *number == 0) return std::nullopt;
    numbers.push_back(*number);
  } while (words.take(","));
  if (!words.take(")") || numbers.size() != count) return std::nullopt;
  return numbers;
}

struct Part {
  const char* name;
  std::size_t numbers;
  void (*add)(KeyParts& parts, const std::vector<std::int64_t>& numbers);
};

// Names as their papers have them: Longformer (Beltagy et al. 2020), Sparse Transformer (Child et
// al. 2019), Blockwise (Qiu et al. 2019), BigBird (Zaheer et al. 2020), Reformer (Kitaev et al.
// 2020).
constexpr Part kParts[] = {
    {"window", 1, [](KeyParts& p, const auto& n) { p.window = n[0]; }},
    {"dilated", 2,
     [](KeyParts& p, const auto& n) {
       p.window = n[0];
       p.dilation = n[1];
     }},
    {"strided", 1,
     [](KeyParts& p, const auto& n) {
       p.window = n[0];
       p.stride = n[0];
     }},
    {"fixed", 2,
     [](KeyParts& p, const auto& n) {
       p.segment = p.period = n[0];
       p.columns = n[1];
     }},
    {"blockwise", 1, [](KeyParts& p, const auto& n) { p.segment = n[0]; }},
    {"global", 1, [](KeyParts& p, const auto& n) { p.global = n[0]; }},
    {"random", 1, [](KeyParts& p, const auto& n) { p.random = n[0]; }},
    {"lsh", 3,
     [](KeyParts& p, const auto& n) {
       p.buckets = n[0];
       p.bucket_chunk = n[1];
       p.rounds = n[2];
     }},
};

// Of two parts that give one number neither is forgotten: that is refused.
bool clash(const KeyParts& before, const KeyParts& part) {
  return (before.window > 0 && part.window > 0) || (before.segment > 0 && part.segment > 0) ||
         (before.global > 0 && part.global > 0) || (before.random > 0 && part.random > 0);
}

void join(KeyParts& all, const KeyParts& part) {
  if (part.window > 0) {
    all.window = part.window;
    all.dilation = part.dilation;
  }
  all.stride += part.stride;
  all.segment += part.segment;
  all.period += part.period;
  all.columns += part.columns;
  all.global += part.global;
  all.random += part.random;
}

// Buckets come in pairs of opposite directions. The largest numbers keep places within 64 bits.
constexpr std::int64_t kMostBuckets = 1 << 16, kMostRounds = 64;

bool hashes_well(const KeyParts& parts) {
  return parts.buckets % 2 == 0 && parts.buckets <= kMostBuckets && parts.rounds <= kMostRounds;
}

std::string expected_numbers(const Part& part) {
  if (part.name == std::string_view("lsh"))
    return cat("expected lsh(B, M, R) with an even number of buckets B up to ", kMostBuckets,
               ", chunks of M keys and rounds R up to ", kMostRounds);
  return cat("expected ", part.name, " with ", part.numbers, " whole number",
             part.numbers == 1 ? "" : "s", " from 1 to ", kMost, " in brackets");
}

std::string read_parts(Words& words, KeyParts& all) {
  if (words.take("all")) return words.at_end() ? "" : kExpected;
  do {
    const std::string name = words.name();
    const auto part = std::ranges::find(kParts, name, &Part::name);
    if (part == std::end(kParts))
      return name.empty() ? kExpected : cat("\"", name, "\" is no part, ", kExpected);
    const auto numbers = read_numbers(words, part->numbers);
    KeyParts parts;
    if (numbers) part->add(parts, *numbers);
    if (!numbers || !hashes_well(parts)) return expected_numbers(*part);
    if (parts.columns > parts.period) return "expected fixed(S, C) with at most S columns C";
    if (parts.buckets > 0) {
      if (!all.show_all() || !words.at_end()) return "expected lsh alone, without other parts";
      all = parts;
      return "";
    }
    if (clash(all, parts))
      return cat(name,
                 " clashes with a part before it, expected at most one of window, dilated and "
                 "strided, one of fixed and blockwise, one global and one random");
    join(all, parts);
  } while (words.take("+"));
  if (!words.at_end()) return kExpected;
  if (all.window + all.segment + all.random == 0)
    return "a query would not see itself, expected a window, dilated, strided, fixed, blockwise or "
           "random part beside it";
  return "";
}

// "layers 0,2-3" at the front, where it is there; returns what is wrong with it.
std::string read_named_list(Words& words, const std::string& name,
                            std::vector<std::int64_t>& list) {
  if (!words.take(name + " ") || read_list(words, list)) return "";
  return cat("\"", name, "\" is followed by no list of ascending numbers from 0 to 1024, ",
             kExpected);
}

bool names(const std::vector<std::int64_t>& some, std::int64_t one) {
  return some.empty() || std::ranges::find(some, one) != some.end();
}

// The place of the last entry that names the head, and its parts.
std::optional<std::pair<std::size_t, KeyParts>> decide(const ModelConfig& model, std::int64_t layer,
                                                       std::int64_t head) {
  for (std::size_t i = model.attention_pattern.size(); i-- > 0;) {
    const PatternEntry entry = parse_pattern_entry(model.attention_pattern[i]);
    if (names(entry.layers, layer) && names(entry.heads, head)) return {{i, entry.parts}};
  }
  return std::nullopt;
}

}  // namespace

bool KeyParts::hide_within(std::int64_t length) const {
  if (show_all()) return false;
  const bool near = dilation == 1 && window + global >= length;
  const bool all_steps = stride == 1 || (period > 0 && columns >= period);
  const bool all_blocks = random > 0 && random >= (length - 1) / 64;
  return !(near || all_steps || all_blocks || segment >= length);
}

PatternEntry parse_pattern_entry(const std::string& text) {
  PatternEntry entry;
  Words words(text);
  entry.problem = read_named_list(words, "layers", entry.layers);
  if (entry.problem.empty()) entry.problem = read_named_list(words, "heads", entry.heads);
  if (!entry.problem.empty()) return entry;
  const bool all_heads = entry.layers.empty() && entry.heads.empty();
  entry.problem = all_heads || words.take(":") ? read_parts(words, entry.parts)
                                               : cat("no : ends the lists, ", kExpected);
  return entry;
}

std::optional<std::size_t> deciding_entry(const ModelConfig& model, std::int64_t layer,
                                          std::int64_t head) {
  const auto decided = decide(model, layer, head);
  return decided ? std::optional(decided->first) : std::nullopt;
}

KeyParts key_parts(const ModelConfig& model, std::int64_t layer, std::int64_t head) {
  const auto decided = decide(model, layer, head);
  return decided ? decided->second : KeyParts();
}

bool hashes_keys(const ModelConfig& model, std::int64_t layer) {
  return key_parts(model, layer, 0).buckets > 0;
}

bool hashes_keys(const ModelConfig& model) {
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    if (hashes_keys(model, layer)) return true;
  return false;
}

bool shows_all_keys(const ModelConfig& model) {
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    for (std::int64_t head = 0; head < model.heads; ++head)
      if (!key_parts(model, layer, head).show_all()) return false;
  return true;
}

bool hides_keys_within(const ModelConfig& model, std::int64_t length) {
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    for (std::int64_t head = 0; head < model.heads; ++head)
      if (key_parts(model, layer, head).hide_within(length)) return true;
  return false;
}

}  // namespace alibi
