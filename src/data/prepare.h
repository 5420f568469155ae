// Text to a prepared folder, in stages:
//
//   names -> kind and files -> recipe -> documents on two sides -> tokenizer -> shards -> folder
//
// data/named_text.h, recipe.h, corpus.h, tokenise.h, make_prepared.h.
#pragma once

#include <filesystem>

#include "config/config.h"
#include "data/prepared.h"

namespace alibi {

// Opens or makes what data.train and data.valid name. data.train may be exactly one prepared
// folder; its tokenizer must then be the configured one. Throws Error for every fault of text,
// files or folder.
PreparedText prepare_text(const DataConfig& data, const TokenizerConfig& tokenizer, int threads,
                          const PrepareProgress& progress = {});

// The same into a folder of the caller's choice, which must not exist yet; data.train names text or
// token ids.
PreparedText prepare_text_into(const std::filesystem::path& folder, const DataConfig& data,
                               const TokenizerConfig& tokenizer, int threads,
                               const PrepareProgress& progress = {});

}  // namespace alibi
