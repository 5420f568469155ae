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
constexpr std::int64_t kLeastGroups = 8;

}  // namespace

std::vector<std::int64_t> parse_lengths(const std::vector<std::string>& texts,
                                        std::int64_t trained_length) {
  std::set<std::int64_t> lengths = {trained_length};
  for (const std::string& text : texts) lengths.insert(parse_length(text, trained_length));
  return {lengths.begin(), lengths.end()};
}

SampleRule sample_rule(const std::vector<std::int64_t>& lengths, const EvaluateConfig& rules) {
  const std::int64_t longest = lengths.back();
  const bool side_by_side = rules.protocol == Protocol::kNonOverlapping;
  const bool looks_back = rules.protocol == Protocol::kSliding ||
                          rules.protocol == Protocol::kStreaming || rules.split_stride;
  SampleRule rule{
      .window = longest, .most = rules.max_tokens, .context = looks_back ? longest : 1, .group = 1};
  std::int64_t group = 1;
  for (const std::int64_t length : lengths) {
    // group * longest is a multiple of `length`; what would leave fewer than kLeastGroups is left.
    const std::int64_t more = length / std::gcd(length, group * longest);
    if (more > rules.max_tokens / kLeastGroups / longest / group) return rule;
    group *= more;
  }
  if (side_by_side) rule.group = group;
  return rule;
}

void check_rules(const std::vector<std::int64_t>& lengths, const EvaluateConfig& rules) {
  const std::int64_t shortest = lengths.front();
  const auto check = [&](const char* key, std::int64_t found, std::int64_t most) {
    if (found <= most) return;
    throw usage_error(
        cat("/evaluate/", key),
        cat("found ", found, ", expected at most ", most, ", as the shortest length is ", shortest),
        "lower it");
  };
  check("stride", rules.stride.value_or(0), shortest);
  // Every target then has at least three quarters of each length before it.
  check("split_stride", rules.split_stride.value_or(0), std::max<std::int64_t>(1, shortest / 4));
  check("sinks", rules.sinks, shortest - 1);
}

void check_sample(const TextSample& sample, const std::string& place) {
  if (!sample.runs.empty() && !sample.scores_anything())
    throw Error(place, "its sample holds prompts only", "give more text, with completions");
  if (!sample.runs.empty()) return;
  throw Error(place,
              cat("found ", sample.available,
                  " tokens, expected at least one window of the longest length ",
                  sample.rule.window, " (1x, the trained length, is always one of them)"),
              "give more text or shorter lengths");
}

}  // namespace alibi
