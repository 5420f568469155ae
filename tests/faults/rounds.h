// How often a test of faults draws: a short form for every day, the long one for scripts/torture.
//
//   ALIBI_TORTURE=SHARE     the long form, or that share of it (1: all)
//   ALIBI_TORTURE_SEED=N    another course of random moments (default 0)
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/random.h"

namespace alibi {

inline bool is_long_form() { return std::getenv("ALIBI_TORTURE") != nullptr; }

inline std::int64_t rounds(std::int64_t every_day, std::int64_t long_form) {
  if (!is_long_form()) return every_day;
  const double share = std::clamp(std::atof(std::getenv("ALIBI_TORTURE")), 0.0, 1.0);
  return std::max(every_day, static_cast<std::int64_t>(share * static_cast<double>(long_form)));
}

inline std::uint64_t torture_seed() {
  const char* seed = std::getenv("ALIBI_TORTURE_SEED");
  return seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10);
}

// A number from 0 to 1 for the round-th draw called `what`.
inline double drawn(const std::string& what, std::int64_t round) {
  return uniform(RandomKey{torture_seed()}.with(what), static_cast<std::uint64_t>(round));
}

}  // namespace alibi
