// The range of every seed: from 0 to the largest round number that JSON's doubles hold exactly.
#pragma once

#include <cstdint>

namespace alibi {

constexpr std::int64_t kMostSeed = 9'000'000'000'000'000;

}  // namespace alibi
