// How much a model's loss owes to context beyond each distance.
//
// Windows of the longest length are read in two halves. The near half is scored: its target number
// d has d tokens of true context in that half, and the far half before them. That is then swapped
// for text from elsewhere in the sample, or shuffled, or left out, and the same targets are scored
// again: the paired differences, by d, measure what the context beyond d tokens is worth. Their
// intervals are joint over d.
#pragma once

#include "evaluate/score.h"
#include "report/curve.h"

namespace alibi {

struct FarContextRule {
  std::int64_t window = 0;   // at least 2
  std::int64_t targets = 0;  // to score, about; kLeastFarWindows windows at least
};

// Fewer windows are no spread to judge by, nor are fewer than kLeastBlocks blocks of them.
inline constexpr std::int64_t kLeastFarWindows = 20;

// Bins of d: 1, 2, 3-4, 5-8, ... With too few windows there are no bins.
// `progress`, not that of `options`, counts the tokens of all four passes.
FarContext measure_far_context(
    Gpt& model, const TextSample& sample, const FarContextRule& rule, const ScoringOptions& options,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

}  // namespace alibi
