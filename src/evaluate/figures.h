// From losses to the figures of a curve: means, changes from 1x, intervals, splits.
#pragma once

#include "evaluate/protocol.h"

namespace alibi {

struct MeasuredLength {
  CurvePoint point;
  std::vector<double> means;       // resampled, paired over lengths
  std::vector<double> full_means;  // the same with sliding windows; empty: not split
};

// Loss, perplexity, bits per byte and perplexity per word with their intervals.
void fill_point(MeasuredLength& measured, const ScoredLength& scored, const Tokenizer& tokenizer);

void fill_full_context(MeasuredLength& measured, const ScoredLength& scored);

// What compares lengths: changes from `base`, joint intervals over all lengths, splits of gains.
void fill_family(std::vector<MeasuredLength>& family, std::int64_t base_length);

}  // namespace alibi
