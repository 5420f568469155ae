// Repeated measurements of a few functions, interleaved, so that noise affects all equally.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace alibi {

struct Timing {  // seconds
  double median = 0, least = 0, most = 0;
  int runs = 0;
};

struct Rounds {
  int warmup = 1;
  int least = 3;         // rounds measured at least
  double seconds = 1.0;  // then go on until this much time has passed
  int most = 200;
};

// One Timing per function.
std::vector<Timing> time_in_turns(const std::vector<std::function<void()>>& functions,
                                  const Rounds& rounds);

}  // namespace alibi
