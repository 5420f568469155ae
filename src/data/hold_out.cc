#include "data/hold_out.h"

#include <cmath>

#include "base/strings.h"

namespace alibi {

HoldOutRule hold_out_rule(bool valid_given, double valid_fraction) {
  if (valid_given) return HoldOutRule::kGiven;
  return valid_fraction > 0 ? HoldOutRule::kHash : HoldOutRule::kNone;
}

bool held_out(const std::string& sha256, double valid_fraction) {
  const auto top = std::stoull(sha256.substr(0, 13), nullptr, 16);  // 52 bits: exact as a double
  return std::ldexp(static_cast<double>(top), -52) < valid_fraction;
}

std::string Division::rule_text() const {
  const std::string percent = significant(100 * valid_fraction, 4) + " %";
  switch (rule) {
    case HoldOutRule::kGiven:
      return "data.valid";
    case HoldOutRule::kHash:
      return percent + " of the documents, by hash of their text";
    case HoldOutRule::kTail:
      return cat("the last ", percent, " of the text, cut at ", cut_at);
    case HoldOutRule::kNone:
      return "nothing (data.valid_fraction is 0)";
  }
  return "";
}

}  // namespace alibi
