// Raw text to a prepared folder, once: the cache is keyed by the content of all files, the
// tokenizer and the hold-out rule. A folder is written aside and takes its name by one rename; a
// lock keeps two processes from making the same one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "config/config.h"
#include "data/prepared.h"

namespace alibi {

struct PrepareProgress {
  std::function<void(const std::string&)> note;                      // a line for people
  std::function<void(std::int64_t done, std::int64_t total)> bytes;  // of text tokenised
};

// Opens or makes what data.train and data.valid name. data.train may be exactly one prepared
// folder; its tokenizer must then be the configured one. Throws Error for every fault of text,
// files or folder.
PreparedText prepare_text(const DataConfig& data, const TokenizerConfig& tokenizer, int threads,
                          const PrepareProgress& progress = {});

// The same into a folder of the caller's choice, which must not exist yet.
PreparedText prepare_text_into(const std::filesystem::path& folder, const DataConfig& data,
                               const TokenizerConfig& tokenizer, int threads,
                               const PrepareProgress& progress = {});

}  // namespace alibi
