// alibi inspect attention: what a trained model's heads do on a text.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line.h"

namespace alibi {

struct AttentionView {
  std::string target;                // checkpoint or run
  std::vector<std::string> texts;    // files; empty: what the run held out
  std::vector<std::string> lengths;  // "1x", "512"
  std::vector<std::string> overrides;
  std::string output;  // page to write; empty: none
};

// The share of key blocks that the tiled kernels visit, one row for each head of each layer and one
// column for each length, where the model runs on such a kernel; then each head's reach, and
// warnings. Writes the page, with ALiBi also what other slopes do to perplexity at the lengths.
std::string describe_attention(const AttentionView& view, const CommandLine& command_line);

}  // namespace alibi
