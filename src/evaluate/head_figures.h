// What each head of a trained model does on texts of several lengths: how far it reaches, where its
// weights are 0, what it lays on the first token, how many key blocks it visits.
#pragma once

#include <functional>

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "report/attention_page.h"

namespace alibi {

// What to take of a text for these lengths.
SampleRule head_figures_rule(const std::vector<std::int64_t>& lengths);

// Of each length at most four windows, spread over the sample's runs, one of which must hold it. Of
// a window its later half counts, or 32 of those queries, spread evenly: each has at least half the
// length before it, and no whole matrix is made. `progress`: windows read, of all.
std::vector<HeadsAtLength> measure_heads(
    LoadedModel& loaded, const TextSample& sample, const std::vector<std::int64_t>& lengths,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

}  // namespace alibi
