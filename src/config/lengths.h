// The one parser of evaluation lengths: the config's keys and the command line's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace alibi {

// "4x" is four times the trained length, "512" is 512. Nothing where that is no whole number of
// tokens from 1 on.
std::optional<std::int64_t> length_in_tokens(const std::string& text, std::int64_t trained_length);

}  // namespace alibi
