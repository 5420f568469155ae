// What a length of a curve means: which tokens each target sees. One protocol a curve, named beside
// every figure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/load_model.h"
#include "config/config.h"
#include "data/text_sample.h"
#include "evaluate/score.h"
#include "report/curve.h"

namespace alibi {

// The losses from which all figures of a length are made.
struct ScoredLength {
  std::vector<float> losses;      // nats, in the order of the text
  std::vector<std::int32_t> ids;  // the targets they belong to
  // Where blocks of losses that are resampled together end, as bootstrap_means'.
  std::vector<std::int64_t> block_ends;
  double short_share = 0;  // of the targets: those in windows that the text's parts cut short
  // For each loss whether its target stands in the later half of its window, or has as much context
  // in another way; empty where lengths do not score the same targets.
  std::vector<std::uint8_t> late;
  std::vector<PositionBin> bins;        // by position in the window; empty where windows have none
  double visited_share = kNotMeasured;  // as ScoringOptions'
};

// How `rules` score a model at `length`: all but progress.
ScoringOptions scoring_at(const LoadedModel& loaded, const EvaluateConfig& rules,
                          std::int64_t length);

// Reads `rows` windows of as many of the `ids` each for what `options` asks of the layers;
// documents are kept apart where the model was trained so.
void read_windows(LoadedModel& loaded, const std::vector<std::int64_t>& ids, std::int64_t rows,
                  ForwardOptions options);

// Why a model with a table of positions cannot read `length` tokens; "" where it can.
std::string past_position_limit(const ModelConfig& model, std::int64_t length);

// Scores the sample at one length: non-overlapping, sliding or streaming. `scoring` brings device,
// stretch and progress.
ScoredLength score_length(LoadedModel& loaded, const TextSample& sample,
                          const EvaluateConfig& rules, std::int64_t length,
                          const ScoringOptions& scoring);

// Sliding windows by rules.split_stride, for the split of a gain.
ScoredLength score_full_context(LoadedModel& loaded, const TextSample& sample,
                                const EvaluateConfig& rules, std::int64_t length,
                                const ScoringOptions& scoring);

// Tokens that each of these reads: what it costs.
std::int64_t tokens_read(const TextSample& sample, const EvaluateConfig& rules,
                         std::int64_t length);
std::int64_t tokens_read_full_context(const TextSample& sample, const EvaluateConfig& rules,
                                      std::int64_t length);

// All `lengths` out of one pass over windows of the last of them: a causal model's loss at position
// p does not depend on what follows, so the first l positions of a long window are a window of
// length l. Those are other targets than brute force scores at l: an estimate of the same mean, one
// window in `longest` tokens.
std::vector<ScoredLength> score_one_pass(LoadedModel& loaded, const TextSample& sample,
                                         const std::vector<std::int64_t>& lengths,
                                         const ScoringOptions& scoring);

struct TextSize {
  std::int64_t bytes = 0, words = 0;  // words: stretches without white space that begin in the text
  bool is_known = true;               // each token stands for the text that its bytes say
};
TextSize text_size(const Tokenizer& tokenizer, std::span<const std::int32_t> ids);

// What reports say of the protocol; the caller fills in the kernel.
CurveProtocol describe_protocol(const Config& config, torch::Device device);

// "4x" times the trained length, "512" as it is; sorted, without repeats, the trained length always
// among them. Throws Error for a multiple that is no whole number of tokens.
std::vector<std::int64_t> parse_lengths(const std::vector<std::string>& texts,
                                        std::int64_t trained_length);

// How a curve over `lengths` (rising) cuts a text of which at most rules.max_tokens are scored:
// windows of the longest length, in groups that every length divides, where such groups are not too
// few. Windows that slide and caches keep a whole window of context before each part.
SampleRule sample_rule(const std::vector<std::int64_t>& lengths, const EvaluateConfig& rules);

// Throws a usage Error when a stride or the sinks do not fit the shortest of `lengths`, or the
// protocol not the model.
void check_rules(const std::vector<std::int64_t>& lengths, const Config& config);

inline constexpr const char* kShorterLengths =
    "give more text or shorter lengths; 1x, the trained length, is always one of a curve's";
// Throws Error headed by `place` when the text has not one window.
void check_sample(const TextSample& sample, const std::string& place,
                  const std::string& way_out = kShorterLengths);

}  // namespace alibi
