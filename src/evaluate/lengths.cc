#include "evaluate/lengths.h"

#include <numeric>
#include <set>

#include "base/error.h"
#include "base/strings.h"
#include "config/lengths.h"

namespace alibi {
namespace {

std::int64_t parse_length(const std::string& text, std::int64_t trained_length) {
  if (const auto length = length_in_tokens(text, trained_length)) return *length;
  throw usage_error(
      "evaluate.lengths",
      "found \"" + text + "\", expected a length such as 512 or a multiple such as 4x",
      cat("1x is the trained length ", trained_length));
}

// Fewer parts than this would be no spread: then a length that does not divide a part ends it with
// a shorter window.
constexpr std::int64_t kLeastGroups = 16;

SampleRule rule_of(std::int64_t window, std::int64_t most, Protocol protocol, std::int64_t group) {
  const std::int64_t context = protocol == Protocol::kSliding ? window : 1;
  return {.window = window, .most = most, .context = context, .group = group};
}

}  // namespace

std::vector<std::int64_t> parse_lengths(const std::vector<std::string>& texts,
                                        std::int64_t trained_length) {
  std::set<std::int64_t> lengths = {trained_length};
  for (const std::string& text : texts) lengths.insert(parse_length(text, trained_length));
  return {lengths.begin(), lengths.end()};
}

SampleRule sample_rule(const std::vector<std::int64_t>& lengths, Protocol protocol,
                       std::int64_t most) {
  const std::int64_t longest = lengths.back();
  std::int64_t group = 1;
  for (const std::int64_t length : lengths) {
    // group * longest is a multiple of `length`; what would leave fewer than kLeastGroups is left.
    const std::int64_t more = length / std::gcd(length, group * longest);
    if (more > most / kLeastGroups / longest / group) return rule_of(longest, most, protocol, 1);
    group *= more;
  }
  return rule_of(longest, most, protocol, group);
}

void check_sample(const TextSample& sample, const std::string& place) {
  if (!sample.runs.empty()) return;
  throw Error(
      place,
      cat("found ", sample.available,
          " tokens, expected at least one window of the longest length ", sample.rule.window),
      "give more text or shorter lengths");
}

}  // namespace alibi
