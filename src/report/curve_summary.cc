// The curve in words. Says less rather than more: an interval that holds 0 is "no measurable
// change".
#include <cmath>

#include "base/strings.h"
#include "config/protocols.h"
#include "report/context.h"
#include "report/curve.h"
#include "report/table.h"

namespace alibi {
namespace {

std::string interval(const CurvePoint& point) {
  return cat("95 % interval ", percent(point.change_low), " to ", percent(point.change_high));
}

// "1280 tokens (10x)"
std::string place(const CurvePoint& point) {
  return cat(with_commas(point.length), " tokens (", times(point.multiple), ")");
}

std::string without_sign(double fraction) {
  return percent(std::abs(fraction)).substr(fraction == 0 ? 0 : 1);
}

std::string change_text(const CurvePoint& point) {
  const std::string start = cat("perplexity at ", place(point), " is ");
  const bool has_interval = std::isfinite(point.change_low) && std::isfinite(point.change_high);
  const std::string direction = point.change_from_1x > 0 ? " higher" : " lower";
  const std::string size = without_sign(point.change_from_1x) + direction + " than at 1x";
  if (point.change_from_1x == 0) return cat(start, "the same as at 1x");
  if (!has_interval) return cat(start, size, " (no interval measured)");
  if (point.change_low <= 0 && point.change_high >= 0) {
    return cat(start, "not measurably different from that at 1x: ", percent(point.change_from_1x),
               " (", interval(point), ", which holds 0)");
  }
  return cat(start, size, " (", interval(point), ")");
}

std::string limit_text(const Curve& curve) {
  std::vector<std::string> limits, lost;
  for (const CurvePoint& point : curve.points) {
    if (!point.applicable)
      (point.out_of_memory ? lost : limits).push_back(with_commas(point.length));
  }
  std::string text;
  if (!limits.empty()) text += cat(" Not applicable at ", join(limits, ", "), " tokens.");
  if (!lost.empty()) text += cat(" Memory did not last at ", join(lost, ", "), " tokens.");
  return text;
}

// A claim over all lengths beyond 1x, where their joint intervals allow one.
std::string whole_curve_text(const Curve& curve) {
  int beyond = 0, lower = 0, higher = 0;
  for (const CurvePoint& point : curve.points) {
    if (point.length <= curve.trained_length || !std::isfinite(point.change_joint_low)) continue;
    ++beyond;
    if (point.change_joint_high < 0) ++lower;
    if (point.change_joint_low > 0) ++higher;
  }
  if (beyond < 2) return "";
  const std::string joint = " (joint 95 % intervals over the whole curve).";
  if (lower == beyond) return " At every length beyond 1x it is lower than at 1x" + joint;
  if (higher == beyond) return " At every length beyond 1x it is higher than at 1x" + joint;
  return cat(" Of ", beyond, " lengths beyond 1x, ", lower, " are measurably lower than 1x and ",
             higher, " higher", joint);
}

}  // namespace

const char* scored_where(const CurveProtocol& protocol) {
  const bool one_pass = protocol.name && protocol_row(*protocol.name).one_pass;
  return one_pass ? " at the longest length" : " at every length";
}

std::string protocol_name(const CurveProtocol& protocol) {
  return protocol.name ? name_of(*protocol.name) : "";
}

std::vector<std::string> protocol_numbers(const CurveProtocol& protocol) {
  std::vector<std::string> numbers;
  if (protocol.stride > 0) numbers.push_back("stride " + with_commas(protocol.stride));
  if (protocol.sinks > 0) numbers.push_back(cat(protocol.sinks, " attention sinks"));
  return numbers;
}

bool measured(const CurvePoint& point) {
  return point.applicable && std::isfinite(point.perplexity);
}

std::string curve_summary(const Curve& curve) {
  const std::string subject = (curve.name.empty() ? std::string("this model") : curve.name) + ": ";
  const CurvePoint* longest = nullptr;
  const CurvePoint* lowest = nullptr;
  for (const CurvePoint& point : curve.points) {
    if (!measured(point)) continue;
    if (longest == nullptr || point.length >= longest->length) longest = &point;
    if (lowest == nullptr || point.perplexity < lowest->perplexity) lowest = &point;
  }
  if (longest == nullptr) return subject + "no point could be measured." + limit_text(curve);
  if (!std::isfinite(longest->change_from_1x) || longest->length == curve.trained_length) {
    const char* missing = longest->length > curve.trained_length
                              ? "; without a figure at 1x there is nothing to compare it with."
                              : "; lengths beyond 1x were not measured.";
    return cat(subject, "perplexity ", four_digits(longest->perplexity), " at ", place(*longest),
               missing, limit_text(curve));
  }
  std::string text = subject + change_text(*longest) + ".";
  if (lowest != longest) {
    text += cat(" Its lowest perplexity, ", four_digits(lowest->perplexity), ", is at ",
                place(*lowest), ".");
  }
  if (const std::string usable = usable_text(curve); !usable.empty())
    text += cat(" Its usable length is ", usable, ".");
  if (const std::int64_t harmless = harmless_length(curve); harmless > curve.usable.tokens)
    text += cat(" Longer contexts, up to ", with_commas(harmless), ", do no harm.");
  return text + whole_curve_text(curve) + limit_text(curve);
}

std::string curve_caution(const CurveProtocol& protocol) {
  const std::string common =
      "a falling curve alone does not show that the longer context is used. The split of the gain, "
      "the useful context, or the loss at the last positions of a long "
      "window beside that at the last positions of 1x do.";
  if (protocol.name && protocol_row(*protocol.name).slides) {
    return "Sliding window: every target but those of the first window has at least length minus "
           "stride "
           "tokens of context, so few targets suffer from a short one; what remains of that effect "
           "still "
           "shrinks with length, and " +
           common;
  }
  if (protocol.name && protocol_row(*protocol.name).streams) {
    return "Streaming: every target has nearly a whole cache before it, and what is older is seen "
           "only through what the layers kept of it; " +
           common;
  }
  return "At longer lengths fewer targets stand near the start of a window, where context is short "
         "(the "
         "early-token curse, Press et al. 2021, appendix B). Perplexity can fall for that reason "
         "alone, so " +
         common;
}

}  // namespace alibi
