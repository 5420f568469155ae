// Words that one tokenizer has encoded, with their ids: most words of a text have been seen before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace alibi {

class WordMemory {
 public:
  using Ids = std::span<const std::int32_t>;
  std::optional<Ids> find(std::string_view word) const;  // valid until the next add()
  void add(std::string_view word, Ids ids);              // a word that find() does not find

 private:
  // Beyond it all is forgotten, so that memory has a bound: some 50 MB.
  static constexpr std::size_t kMostWords = std::size_t{1} << 19;

  struct Range {
    std::size_t first, size;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;  // a view is looked up without a copy
  };
  std::unordered_map<std::string, Range, Hash, std::equal_to<>> words_;
  std::vector<std::int32_t> ids_;
};

}  // namespace alibi
