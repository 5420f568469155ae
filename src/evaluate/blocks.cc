#include "evaluate/blocks.h"

namespace alibi {

std::int64_t block_tokens(const TextSample& sample) {
  const bool all = sample.targets() == sample.windows * sample.rule.window;
  return sample.rule.window * (all ? 1 : sample.rule.group);
}

std::vector<std::int64_t> block_ends(const TextSample& sample) {
  const std::int64_t tokens = block_tokens(sample);
  std::vector<std::int64_t> ends;
  std::int64_t scored = 0, begun = 0;  // losses so far, of them in the blocks before
  for (const SampleRun& run : sample.runs) {
    for (std::int64_t i = 1; i <= run.count; ++i) {
      if (sample.is_target(run.first + i - 1)) ++scored;
      if ((i % tokens == 0 || i == run.count) && scored > begun) ends.push_back(begun = scored);
    }
  }
  return ends;
}

}  // namespace alibi
