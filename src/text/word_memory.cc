#include "text/word_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace alibi {
namespace {

constexpr std::size_t kFirstSlots = 1 << 12;

// Not 0.
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
  return hash | 1;
}

}  // namespace

std::size_t WordMemory::slot_of(std::string_view word, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (hash >> 1) & mask;
  for (; slots_[at].hash != 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && slot.letter_count == word.size() &&
        std::memcmp(letters_.data() + slot.letters, word.data(), word.size()) == 0)
      break;
  }
  return at;
}

std::optional<WordMemory::Ids> WordMemory::find(std::string_view word) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(word, hash_of(word))];
  if (slot.hash == 0) return std::nullopt;
  return Ids(ids_).subspan(slot.ids, slot.id_count);
}

void WordMemory::add(std::string_view word, Ids ids) {
  ensure(word.size() <= kLongestWord && ids.size() < (1 << 16), "a word is short");
  if (words_ == kMostWords) *this = WordMemory();
  if (2 * (words_ + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_of(word);
  slots_[slot_of(word, hash)] = {
      hash, static_cast<std::uint32_t>(letters_.size()), static_cast<std::uint32_t>(ids_.size()),
      static_cast<std::uint16_t>(word.size()), static_cast<std::uint16_t>(ids.size())};
  letters_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ++words_;
}

void WordMemory::grow() {
  const std::vector<Slot> before = std::exchange(slots_, {});
  slots_.resize(before.empty() ? kFirstSlots : 2 * before.size());
  for (const Slot& slot : before) {
    if (slot.hash == 0) continue;
    const std::string_view word(letters_.data() + slot.letters, slot.letter_count);
    slots_[slot_of(word, slot.hash)] = slot;
  }
}

}  // namespace alibi
