// What a length of a curve means: which tokens each target sees. One protocol a curve, named beside
// every figure.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load_model.h"
#include "evaluate/score.h"
#include "report/curve.h"

namespace alibi {

// The losses from which all figures of a length are made.
struct ScoredLength {
  std::vector<float> losses;      // nats, in the order of the text
  std::vector<std::int32_t> ids;  // the targets they belong to
  std::int64_t block = 1;         // consecutive losses that are resampled together
  double short_share = 0;  // of the targets: those in windows that the text's parts cut short
  std::vector<PositionBin> bins;  // by position in the window; empty where windows have none
};

// How `rules` score a model at `length`: all but progress.
ScoringOptions scoring_at(const LoadedModel& loaded, const EvaluateConfig& rules,
                          std::int64_t length);

// Scores the sample at one length: non-overlapping, sliding or streaming. `scoring` brings device,
// stretch and progress.
ScoredLength score_length(LoadedModel& loaded, const TextSample& sample,
                          const EvaluateConfig& rules, std::int64_t length,
                          const ScoringOptions& scoring);

// Sliding windows by rules.split_stride, for the split of a gain.
ScoredLength score_full_context(LoadedModel& loaded, const TextSample& sample,
                                const EvaluateConfig& rules, std::int64_t length,
                                const ScoringOptions& scoring);

// All `lengths` out of one pass over windows of the last of them: a causal model's loss at position
// p does not depend on what follows, so the first l positions of a long window are a window of
// length l. Those are other targets than brute force scores at l: an estimate of the same mean, one
// window in `longest` tokens.
std::vector<ScoredLength> score_one_pass(LoadedModel& loaded, const TextSample& sample,
                                         const std::vector<std::int64_t>& lengths,
                                         const ScoringOptions& scoring);

struct TextSize {
  std::int64_t bytes = 0, words = 0;  // words: stretches without white space that begin in the text
};
TextSize text_size(const Tokenizer& tokenizer, std::span<const std::int32_t> ids);

// The protocol's words for reports; the kernel is the caller's to fill.
CurveProtocol describe_protocol(const Config& config, torch::Device device);

}  // namespace alibi
