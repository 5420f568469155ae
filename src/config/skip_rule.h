// What a tiled attention kernel may leave out (kernels/attention_skip.h): what is zero to the last
// bit, what is below the rounding of its row, or nothing.
#pragma once

#include <array>

namespace alibi {

enum class SkipRule { kExact, kEpsilon, kOff };
constexpr auto enum_names(SkipRule) { return std::array{"exact", "epsilon", "off"}; }

}  // namespace alibi
