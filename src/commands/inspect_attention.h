// alibi inspect attention: how far a trained model's heads reach, as the share of key blocks that
// the tiled kernels must visit.
#pragma once

#include <string>
#include <vector>

namespace alibi {

struct AttentionView {
  std::string target;                // checkpoint or run
  std::vector<std::string> texts;    // files; empty: what the run held out
  std::vector<std::string> lengths;  // "1x", "512"
  std::vector<std::string> overrides;
};

// One row for each head of each layer, one column for each length. Throws Error when the model runs
// on a kernel without blocks.
std::string describe_attention(const AttentionView& view);

}  // namespace alibi
