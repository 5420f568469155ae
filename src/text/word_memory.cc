#include "text/word_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace alibi {
namespace {

constexpr std::size_t kFirstSlots = 1 << 12;

std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = word.size();
  while (!word.empty()) {
    std::uint64_t piece = 0;
    const std::size_t size = std::min<std::size_t>(word.size(), sizeof piece);
    std::memcpy(&piece, word.data(), size);
    word.remove_prefix(size);
    hash = (hash ^ piece) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

WordMemory::Ids WordMemory::ids_of(const Slot& slot) const {
  const std::int32_t* word = words_.data() + slot.word;
  return {word + 2, static_cast<std::size_t>(word[1])};
}

std::string_view WordMemory::letters_of(const Slot& slot) const {
  const std::int32_t* word = words_.data() + slot.word;
  return {reinterpret_cast<const char*>(word + 2 + word[1]), static_cast<std::size_t>(word[0])};
}

std::size_t WordMemory::slot_of(std::string_view word, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].word != 0; at = (at + 1) & mask)
    if (slots_[at].tag == tag_of(hash) && letters_of(slots_[at]) == word) break;
  return at;
}

std::optional<WordMemory::Ids> WordMemory::find(std::string_view word) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(word, hash_of(word))];
  return slot.word == 0 ? std::nullopt : std::optional(ids_of(slot));
}

void WordMemory::prefetch(std::span<const std::string_view> words) const {
  if (slots_.empty()) return;
  const auto first_slot = [&](std::string_view word) {
    return slots_.data() + (hash_of(word) & (slots_.size() - 1));
  };
  for (const std::string_view word : words) __builtin_prefetch(first_slot(word));
  for (const std::string_view word : words)
    __builtin_prefetch(words_.data() + first_slot(word)->word);
}

void WordMemory::add(std::string_view word, Ids ids) {
  ensure(word.size() <= kLongestWord, "a word is short");
  if (count_ == kMostWords) *this = WordMemory();
  if (2 * (count_ + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_of(word);
  slots_[slot_of(word, hash)] = {tag_of(hash), static_cast<std::uint32_t>(words_.size())};
  words_.push_back(static_cast<std::int32_t>(word.size()));
  words_.push_back(static_cast<std::int32_t>(ids.size()));
  words_.insert(words_.end(), ids.begin(), ids.end());
  const std::size_t letters = words_.size();
  words_.resize(letters + (word.size() + 3) / 4);
  std::memcpy(words_.data() + letters, word.data(), word.size());
  ++count_;
}

void WordMemory::grow() {
  const std::vector<Slot> before = std::exchange(slots_, {});
  slots_.resize(before.empty() ? kFirstSlots : 2 * before.size());
  if (words_.empty()) words_.push_back(0);  // so that no word begins at 0
  for (const Slot& slot : before)
    if (slot.word != 0) slots_[slot_of(letters_of(slot), hash_of(letters_of(slot)))] = slot;
}

}  // namespace alibi
