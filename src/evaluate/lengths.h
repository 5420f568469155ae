// Which lengths a curve has, and how much of the text all of them share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/text_sample.h"

namespace alibi {

// "4x" times the trained length, "512" as it is; sorted, without repeats, the trained length always
// among them. Throws Error for a multiple that is no whole number of tokens.
std::vector<std::int64_t> parse_lengths(const std::vector<std::string>& texts,
                                        std::int64_t trained_length);

// How a curve over `lengths` (rising) cuts a text of which at most rules.max_tokens are scored:
// windows of the longest length, in groups that every length divides, where such groups are not too
// few. Windows that slide and caches keep a whole window of context before each part.
SampleRule sample_rule(const std::vector<std::int64_t>& lengths, const EvaluateConfig& rules);

// Throws a usage Error when a stride or the sinks do not fit the shortest of `lengths`.
void check_rules(const std::vector<std::int64_t>& lengths, const EvaluateConfig& rules);

// Throws Error headed by `place` when the text has not one window.
void check_sample(const TextSample& sample, const std::string& place);

}  // namespace alibi
