// Loss of a text that runs through a cache of bounded size, as a model would read a stream: every
// token keeps the keys and values it was given when it was read.
#pragma once

#include "evaluate/score.h"

namespace alibi {

struct StreamRule {
  std::int64_t window = 0;  // positions the cache holds, the newest included
  std::int64_t sinks = 0;   // of them, the text's first ones, for good
};

// Tokens are read in steps of at most a quarter of the window, so each sees between three quarters
// of the window and the whole of it. Every run of the sample is a stream; the context before it is
// read and not scored. One loss in nats per target as `score` gives them. Refuses
// separate_documents.
std::vector<float> score_streaming(Gpt& model, const TextSample& sample, const StreamRule& rule,
                                   const ScoringOptions& options);

}  // namespace alibi
