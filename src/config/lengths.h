// The one parser of evaluation lengths: the config's keys and the command line's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace alibi {

// "4x" is four times the trained length, "512" is 512. Nothing where that is no whole number of
// tokens from 1 on.
std::optional<std::int64_t> length_in_tokens(const std::string& text, std::int64_t trained_length);

struct BatchConfig;

// What a step trains on: "16 sequences of 128", or of each of several lengths, of which each step
// draws one: "16 sequences of 128 or 32 of 64".
std::string step_sequences_text(const BatchConfig& batch);

}  // namespace alibi
