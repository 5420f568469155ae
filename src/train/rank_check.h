// Ranks that do not agree on what they train or measure are refused before they begin, or take the
// first one's choice.
#pragma once

#include <filesystem>
#include <functional>

#include "config/config.h"
#include "data/prepared.h"
#include "distributed/world.h"

namespace alibi {

// Throws Error naming rank and key where a rank runs another program version or another config, or
// does not see the run folder that the first rank made. Every rank calls it.
void refuse_other_ranks(World& world, const Config& config,
                        const std::filesystem::path& run_folder);
// The same for text and tokenizer.
void refuse_other_text(World& world, const PreparedText& text);

// Warns where a rank computes otherwise than the first (another processor): its lanes have other
// bits than one process alone would give them.
void warn_of_other_arithmetic(World& world, const std::string& arithmetic);

// Fixes runtime.linear_layers on every rank as `settle` does on the first, where alone it is
// called: what is faster is measured, and ranks that measured each for itself could differ.
void settle_linear_layers_as_first(World& world, RuntimeConfig& runtime,
                                   const std::function<void(RuntimeConfig&)>& settle);

// Gives every rank what each says and throws Error where one differs from the first.
void refuse_different(World& world, const std::string& mine, const std::string& what,
                      const std::string& way_out);

}  // namespace alibi
