// Byte-level BPE (GPT-2): text, where asked for in normal form C, is cut by patterns; the bytes of
// each cut are merged pair by pair, the earliest merge of the list first, leftmost first.
// Special tokens in text are text: nothing that a document holds can end it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/byte_level_json.h"
#include "text/patterns.h"
#include "text/word_memory.h"

namespace alibi {

class ByteLevelBpe {
 public:
  // Throws Error at `place` for a pattern that cannot be used.
  ByteLevelBpe(ByteLevelModel model, const std::string& place);

  const ByteLevelModel& model() const { return model_; }
  std::vector<std::int32_t> encode(std::string_view text, WordMemory& known) const;

  // Whether encoding may start afresh at a space between two ASCII letters or digits.
  bool cuts_between_words() const { return cuts_between_words_; }

 private:
  struct Merge {
    std::int32_t rank, merged;
  };
  using Ids = std::vector<std::int32_t>;

  void encode_plain(std::string_view text, WordMemory& known, Ids& ids) const;
  Ids merged(std::string_view word) const;
  const Merge* merge_of(std::int32_t left, std::int32_t right) const;

  ByteLevelModel model_;
  Patterns patterns_;
  std::vector<std::int32_t> byte_ids_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::unordered_map<std::string_view, std::int32_t> whole_words_;  // where they come before merges
  bool cuts_between_words_ = false;
};

}  // namespace alibi
