// Which lengths a curve has, and how much of the text all of them share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace alibi {

// "4x" times the trained length, "512" as it is; sorted, without repeats, the trained length always
// among them. Throws Error for a multiple that is no whole number of tokens.
std::vector<std::int64_t> parse_lengths(const std::vector<std::string>& texts,
                                        std::int64_t trained_length);

// Targets that every length scores: whole windows of the longest length within `available` and
// `most` targets. Throws Error headed by `place` when not one fits.
std::int64_t shared_targets(std::int64_t available, std::int64_t most, std::int64_t longest,
                            const std::string& place);

}  // namespace alibi
