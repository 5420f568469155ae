// Words that one tokenizer has encoded, with their ids: most words of a text have been seen before.
// An open-addressing table, for its lookups are most of the time of encoding: those of frequent
// words, which come first, lie side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

class WordMemory {
 public:
  static constexpr std::size_t kLongestWord = 64;  // bytes; longer ones are rarely seen twice

  using Ids = std::span<const std::int32_t>;
  std::optional<Ids> find(std::string_view word) const;  // valid until the next add()
  // Before these are looked for: waits for memory overlap.
  void prefetch(std::span<const std::string_view> words) const;
  // A word of at most kLongestWord bytes that find() does not find.
  void add(std::string_view word, Ids ids);

 private:
  // Beyond it all is forgotten, so that memory has a bound: some 20 MB.
  static constexpr std::size_t kMostWords = std::size_t{1} << 19;

  // Small, for a lookup waits for memory once here and once for the word.
  struct Slot {
    std::uint32_t tag = 0;   // the upper half of the word's hash
    std::uint32_t word = 0;  // where it begins in words_; 0: nobody's
  };
  Ids ids_of(const Slot& slot) const;
  std::string_view letters_of(const Slot& slot) const;
  // Its slot, or the free one where it would be. There is a table.
  std::size_t slot_of(std::string_view word, std::uint64_t hash) const;
  void grow();

  std::size_t count_ = 0;
  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  // Word behind word: how many bytes and ids it has, the ids, the bytes.
  std::vector<std::int32_t> words_;
};

}  // namespace alibi
