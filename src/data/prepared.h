// A folder of tokenised text, complete in itself and never changed once it is there:
//
//   prepared.json         format_version, what tokenizer, files with checksums, statistics
//   tokenizer.model       sentencepiece model, or tokenizer.json of byte-level BPE; absent in byte
//                         mode
//   train-00000.tokens    layout in formats/shard.h; -00001 and so on
//   valid-00000.tokens
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "data/shards.h"
#include "text/tokenizer.h"

namespace alibi {

struct SplitStatistics {
  std::int64_t documents = 0;
  std::int64_t bytes = 0;
  std::int64_t tokens = 0;         // end tokens included
  std::int64_t unknown = 0;        // unknown tokens
  std::int64_t byte_fallback = 0;  // tokens that are one byte of a character outside the vocabulary
  std::int64_t changed_documents = 0;  // that decoding does not give back exactly
  double bytes_per_token() const;      // end tokens left out; 0 without tokens
};

struct PreparedStatistics {
  SplitStatistics train;
  SplitStatistics valid;
  std::int64_t empty_documents = 0;  // skipped
  std::int64_t files = 0;            // read
  std::int64_t other_files = 0;      // in folders, not read (TextFiles)
  std::string hold_out;              // how the validation text was chosen
};

struct PreparedText {
  std::filesystem::path folder;
  Tokenizer tokenizer;
  TokenShards train;
  TokenShards valid;
  PreparedStatistics statistics;
  std::string data_hash;    // over tokenizer and token files: what a run sees
  bool from_cache = false;  // it was there already
};

inline constexpr int kPreparedFormatVersion = 1;

bool is_prepared(const std::filesystem::path& folder);  // a folder with a prepared.json

// Checks everything: throws Error naming file and fault.
PreparedText open_prepared(const std::filesystem::path& folder);

// Writes prepared.json (and tokenizer.model) for token files that lie in `folder`.
void write_prepared(const std::filesystem::path& folder, const Tokenizer& tokenizer,
                    const TokenShards& train, const TokenShards& valid,
                    const PreparedStatistics& statistics);

// What preparing text reports while it runs. Either function may be empty.
struct PrepareProgress {
  std::function<void(const std::string&)> note;                      // a line for people
  std::function<void(std::int64_t done, std::int64_t total)> bytes;  // of text tokenised

  void say(const std::string& line) const {
    if (note) note(line);
  }
};

}  // namespace alibi
