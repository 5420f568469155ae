// alibi bench attention --traffic: how many numbers the two textbook algorithms move between fast
// and slow memory, counted as they run.
#pragma once

#include "bench/record.h"

namespace alibi {

// One head of `head_width` for each length and each size M of fast memory, in numbers.
BenchRecord count_traffic(std::int64_t head_width, const std::vector<std::int64_t>& lengths,
                          const std::vector<std::int64_t>& fast_numbers);

}  // namespace alibi
