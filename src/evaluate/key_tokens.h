// Key tokens: targets that need far context, as one fixed model finds them.
//
// A target is one where the evaluator's loss under windows of long_length lies below most_loss and
// more than least_gain below that under windows of short_length (LongPPL, Fang et al. 2024, section
// 3, with thresholds for small models). Both kinds of windows slide by half of their length, so all
// targets but the first of a run have at least that half before them.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "evaluate/share.h"
#include "report/curve_files.h"

namespace alibi {

struct KeyTokens {
  KeyTokenRule rule;
  std::vector<std::uint8_t> is_key;  // for each scored target of the sample; empty: not asked for
};

struct KeyTokensOptions {
  KeyTokensConfig wanted;
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  // tokens read
  ScoringShare share = {};
};

// `evaluator` is read from wanted.evaluator and has the tokenizer that made the sample. Throws
// Error where its lengths are not in order or out of its positions' reach.
KeyTokens find_key_tokens(LoadedModel& evaluator, const TextSample& sample,
                          const KeyTokensOptions& options);

// The same as a file holds them, and back.
KeyTokenList as_list(const KeyTokens& found, const std::string& text_sha256);
// Throws Error headed by `file` where it is not of as many scored targets.
KeyTokens from_list(const KeyTokenList& list, std::int64_t targets, const std::string& file);

}  // namespace alibi
