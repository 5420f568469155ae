#include "evaluate/lengths.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

std::int64_t parse_length(const std::string& text, std::int64_t trained_length) {
  const bool multiple = text.ends_with('x');
  const std::string digits = multiple ? text.substr(0, text.size() - 1) : text;
  const bool plain = !digits.empty() && digits.size() <= 12 && digits != "." &&
                     digits.find_first_not_of("0123456789.") == std::string::npos &&
                     std::count(digits.begin(), digits.end(), '.') <= (multiple ? 1 : 0);
  const double value = plain ? std::stod(digits) : 0;
  const double length = multiple ? value * static_cast<double>(trained_length) : value;
  const bool whole = length >= 1 && length < 1e12 && length == std::floor(length);
  if (!whole) {
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

std::int64_t shared_targets(std::int64_t available, std::int64_t most, std::int64_t longest,
                            const std::string& place) {
  const std::int64_t windows = std::min(available, std::max(most, longest)) / longest;
  if (windows >= 1) return windows * longest;
  throw Error(place,
              cat("found ", available,
                  " tokens, expected at least one window of the longest length ", longest),
              "give more text or shorter lengths");
}

}  // namespace alibi
