// What each head of a trained model does on a text: scores, biases, weights, and how far they
// reach.
#pragma once

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "report/attention_page.h"

namespace alibi {

// Reads the last tokens of the sample, as many as the trained length but at most 1024, and shows
// the matrices of the first 48 of them. The sample must hold the trained length.
AttentionPicture picture_attention(LoadedModel& loaded, const TextSample& sample);

// Perplexity at each length with other slopes than the model was trained with: those and every rule
// that gives others, each times 1/4 ... 4, and no bias. Empty without ALiBi.
std::vector<SlopeCurve> slope_curves(
    LoadedModel& loaded, const TextSample& sample, const std::vector<std::int64_t>& lengths,
    const std::function<void(std::int64_t, std::int64_t)>& progress);

}  // namespace alibi
