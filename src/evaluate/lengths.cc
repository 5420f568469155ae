#include "evaluate/lengths.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

std::int64_t parse_length(const std::string& text, std::int64_t trained_length) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const bool multiple = used + 1 == text.size() && text.ends_with('x');
  const double length = multiple ? value * static_cast<double>(trained_length) : value;
  const bool whole = length >= 1 && length < 1e12 && length == std::floor(length);
  if (used == 0 || (!multiple && used != text.size()) || !whole) {
    throw usage_error(
        "evaluate.lengths",
        "found \"" + text + "\", expected a length such as 512 or a multiple such as 4x",
        cat("1x is the trained length ", trained_length));
  }
  return static_cast<std::int64_t>(length);
}

}  // namespace

std::vector<std::int64_t> parse_lengths(const std::vector<std::string>& texts,
                                        std::int64_t trained_length) {
  std::set<std::int64_t> lengths = {trained_length};
  for (const std::string& text : texts) lengths.insert(parse_length(text, trained_length));
  return {lengths.begin(), lengths.end()};
}

std::int64_t shared_targets(std::int64_t available, std::int64_t most, std::int64_t longest) {
  const std::int64_t windows = std::min(available, std::max(most, longest)) / longest;
  if (windows >= 1) return windows * longest;
  throw Error("evaluation text",
              cat("found ", available,
                  " tokens, expected at least one window of the longest length ", longest),
              "give more text or shorter lengths");
}

}  // namespace alibi
