#include "config/lengths.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/strings.h"
#include "config/config.h"

namespace alibi {

std::optional<std::int64_t> length_in_tokens(const std::string& text, std::int64_t trained_length) {
  const bool multiple = text.ends_with('x');
  const std::string digits = multiple ? text.substr(0, text.size() - 1) : text;
  const bool plain = !digits.empty() && digits.size() <= 12 && digits != "." &&
                     digits.find_first_not_of("0123456789.") == std::string::npos &&
                     std::count(digits.begin(), digits.end(), '.') <= (multiple ? 1 : 0);
  if (!plain) return std::nullopt;
  const double exact =
      multiple ? std::stod(digits) * static_cast<double>(trained_length) : std::stod(digits);
  const double length = std::round(exact);  // 1.1 x 100 is not quite 110
  if (!(length >= 1 && length < 1e12 && std::abs(exact - length) < 1e-9 * length))
    return std::nullopt;
  return static_cast<std::int64_t>(length);
}

std::string step_sequences_text(const BatchConfig& batch) {
  std::vector<double> scalings = batch.length_mixture;
  if (scalings.empty()) scalings = {batch.train_sequence_length_scaling};
  std::ranges::sort(scalings, std::greater());
  std::string text;
  for (std::size_t i = 0; i < scalings.size(); ++i) {
    const BatchShape shape = batch_shape(batch, scalings[i]);
    text += cat(i == 0                    ? ""
                : i + 1 < scalings.size() ? ", "
                                          : " or ",
                shape.rows, i == 0 ? " sequences of " : " of ", shape.length);
  }
  return text;
}

}  // namespace alibi
