// alibi inspect attention: what a trained model's heads do on a text.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line.h"
#include "commands/found.h"

namespace alibi {

struct AttentionView {
  std::string target;                // checkpoint or run
  std::vector<std::string> texts;    // files; empty: what the run held out
  std::vector<std::string> lengths;  // "1x", "512"
  std::vector<std::string> overrides;
  std::string output;  // page to write; empty: none
};

// At each length the share of key blocks that each head visits, its reach and its weights of 0;
// then warnings. Writes the page, with ALiBi also what other slopes do to perplexity at the
// lengths.
Found describe_attention(const AttentionView& view, const CommandLine& command_line);

}  // namespace alibi
