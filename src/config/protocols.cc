#include "config/protocols.h"

#include "base/strings.h"

namespace alibi {
namespace {

std::string side_by_side(const EvaluateConfig&) {
  return "Windows of each length stand side by side; every target is scored once, with what "
         "precedes it in its window.";
}

std::string sliding(const EvaluateConfig& rules) {
  return cat("Windows of each length move on by ",
             rules.stride ? cat(*rules.stride, " targets") : std::string("half a window"),
             "; each scores the targets that are new in it.");
}

std::string streaming(const EvaluateConfig&) {
  return "The text runs through a cache of each length, read in steps of a quarter of it at most; "
         "every token keeps the keys and values of the time it was read.";
}

std::string one_pass(const EvaluateConfig&) {
  return "One pass over windows of the longest length; a shorter length is the first positions of "
         "those windows, so lengths score different targets.";
}

// In the order of the enumerators.
constexpr std::array<ProtocolRow, enum_names(Protocol()).size()> kRows = {{
    {.description = side_by_side, .side_by_side = true},
    {.description = sliding, .slides = true},
    {.description = streaming, .streams = true},
    {.description = one_pass, .one_pass = true},
}};

}  // namespace

const ProtocolRow& protocol_row(Protocol protocol) {
  return kRows[static_cast<std::size_t>(protocol)];
}

std::string protocol_condition(bool ProtocolRow::*property) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].*property) names.emplace_back(enum_names(Protocol())[i]);
  return "evaluate.protocol is \"" + join(names, "\" or \"") + "\"";
}

}  // namespace alibi
