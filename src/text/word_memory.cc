#include "text/word_memory.h"

namespace alibi {

std::optional<WordMemory::Ids> WordMemory::find(std::string_view word) const {
  const auto at = words_.find(word);
  if (at == words_.end()) return std::nullopt;
  return Ids(ids_).subspan(at->second.first, at->second.size);
}

void WordMemory::add(std::string_view word, Ids ids) {
  if (words_.size() == kMostWords) {
    words_.clear();
    ids_.clear();
  }
  words_.emplace(word, Range{ids_.size(), ids.size()});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace alibi
