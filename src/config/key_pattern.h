// Which earlier keys a query sees, layer by layer and head by head: model.attention_pattern.
//
// An entry is a text, "[layers 0,2-3] [heads 4-7]: PART + PART". A query sees what at least one
// part shows. The last entry that names a head decides about it; one that none names sees all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace alibi {

struct ModelConfig;

// Shown is what at least one of these shows, and all where there is none. A query at place i, a key
// at place j, d = i - j >= 0.
struct KeyParts {
  std::int64_t window = 0, dilation = 1;  // d < window * dilation and d mod dilation = 0
  std::int64_t stride = 0;                // d mod stride = 0
  std::int64_t segment = 0;               // floor(i / segment) = floor(j / segment)
  std::int64_t period = 0, columns = 0;   // j mod period >= period - columns
  std::int64_t global = 0;                // j is among the first keys of its document
  std::int64_t random = 0;  // blocks of 64 keys drawn for each block of 64 queries, and its own
  // By hashed keys (model/hashed_keys.h), alone and for all heads of a layer.
  std::int64_t buckets = 0, bucket_chunk = 0, rounds = 0;

  bool show_all() const { return *this == KeyParts(); }
  // Whether a query of a sequence of `length` may miss an earlier key.
  bool hide_within(std::int64_t length) const;
  // Whether a part asks where a key stands, not only how far before the query.
  bool ask_for_places() const { return segment + columns + global + random + buckets > 0; }
  bool operator==(const KeyParts&) const = default;
};

struct PatternEntry {
  std::vector<std::int64_t> layers, heads;  // empty: every one
  KeyParts parts;
  std::string
      problem;  // of a text that is no entry, or hides a query from itself: the rest is void
};

PatternEntry parse_pattern_entry(const std::string& text);

// The index of the entry that decides about a head, if any. Of texts that are entries.
std::optional<std::size_t> deciding_entry(const ModelConfig& model, std::int64_t layer,
                                          std::int64_t head);

// Of a validated config.
KeyParts key_parts(const ModelConfig& model, std::int64_t layer, std::int64_t head);
bool shows_all_keys(const ModelConfig& model);
bool hides_keys_within(const ModelConfig& model, std::int64_t length);  // in any layer and head
bool hashes_keys(const ModelConfig& model, std::int64_t layer);
bool hashes_keys(const ModelConfig& model);  // any layer

}  // namespace alibi
