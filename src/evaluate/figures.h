// From losses to the figures of a curve: means, changes from 1x, intervals, splits.
#pragma once

#include <span>

#include "evaluate/protocol.h"

namespace alibi {

struct MeasuredLength {
  CurvePoint point;
  std::vector<double> means;       // resampled, paired over lengths
  std::vector<double> full_means;  // the same with sliding windows; empty: not asked for
  // As ScoredLength's.
  std::vector<float> losses;
  std::vector<std::uint8_t> late;
  std::vector<std::int64_t> block_ends;
};

// Loss, perplexity, bits per byte and perplexity per word with their intervals.
void fill_point(MeasuredLength& measured, ScoredLength scored, const Tokenizer& tokenizer);

void fill_full_context(MeasuredLength& measured, const ScoredLength& scored);

// By which targets gains are split: all of them in sliding windows, where full_loss is there, or
// those that are late in the windows of both lengths.
enum class Split { kNone, kSliding, kLate };

// What compares lengths: changes from `base`, joint intervals over all lengths, splits of gains.
void fill_family(std::vector<MeasuredLength>& family, std::int64_t base_length, Split split);

// Figures of the key tokens alone, of lengths that score the same targets: `is_key` says which.
void fill_key_figures(std::vector<MeasuredLength>& family, std::int64_t base_length,
                      std::span<const std::uint8_t> is_key);

// Of lengths that score the same targets, once fill_family has run.
UsableLength usable_length(const std::vector<MeasuredLength>& family, std::int64_t base_length);

}  // namespace alibi
