// Ranks that do not agree on what they train are refused before the first step.
#pragma once

#include <filesystem>

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

}  // namespace alibi
