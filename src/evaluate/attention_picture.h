// What each head of a trained model does on a stretch of text, number by number; and what its
// slopes do to its curve.
#pragma once

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "report/attention_page.h"

namespace alibi {

// Scores and biases of the first 48 of the sample's last tokens, of which it takes as many as the
// trained length but at most 1024. The heads' figures are the caller's to fill.
AttentionPicture picture_attention(LoadedModel& loaded, const TextSample& sample);

// Perplexity at each length with other slopes than the model was trained with: those and every rule
// that gives others, each times 1/4 ... 4, and no bias. Empty without ALiBi.
std::vector<SlopeCurve> slope_curves(
    LoadedModel& loaded, const TextSample& sample, const std::vector<std::int64_t>& lengths,
    const std::function<void(std::int64_t, std::int64_t)>& progress);

}  // namespace alibi
