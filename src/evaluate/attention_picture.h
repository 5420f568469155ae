// What each head of a trained model does on a text: scores, biases, weights, and how far they
// reach.
#pragma once

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "report/attention_page.h"

namespace alibi {

struct PictureRule {
  std::int64_t shown = 48;  // tokens of the matrices
  std::int64_t window =
      0;  // tokens over which the reach is measured; 0: the trained length; at most 1024
};

// Takes the last `window` tokens of the sample, and shows the first of them. Throws Error when the
// sample is shorter.
AttentionPicture picture_attention(LoadedModel& loaded, const TextSample& sample,
                                   const PictureRule& rule);

// Perplexity at each length with other slopes than the model was trained with: every rule, and its
// own times 1/4 ... 4. Empty without ALiBi.
std::vector<SlopeCurve> slope_curves(
    LoadedModel& loaded, const TextSample& sample, const std::vector<std::int64_t>& lengths,
    const std::function<void(std::int64_t, std::int64_t)>& progress);

}  // namespace alibi
