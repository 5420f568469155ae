// One token from a row of logits. Every draw is a function of (seed, position).
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace alibi {

struct SampleOptions {
  double temperature = 1.0;  // 0: the most likely token
  std::int64_t top_k = 0;    // 0: all
  double top_p = 1.0;        // smallest set of tokens with at least this probability
  std::uint64_t seed = 0;
};

// Index drawn from softmax(logits / temperature) after top-k, then top-p. Tokens in `banned` never
// come.
std::int32_t sample(std::span<const float> logits, const SampleOptions& options,
                    std::int64_t position, std::span<const std::int32_t> banned = {});

}  // namespace alibi
