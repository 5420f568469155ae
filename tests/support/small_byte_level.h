// A byte-level tokenizer.json of all bytes, a few merges and an end token.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/strings.h"

namespace alibi {

// How tokenizer.json writes a byte.
inline std::string byte_character(unsigned byte) {
  static const std::vector<unsigned> points = [] {
    std::vector<unsigned> all(256);
    unsigned next = 256;
    for (unsigned b = 0; b < 256; ++b)
      all[b] = (b >= 33 && b <= 126) || (b >= 161 && b != 173) ? b : next++;
    return all;
  }();
  const unsigned point = points[byte];
  if (point < 0x80) return std::string(1, static_cast<char>(point));
  return {static_cast<char>(0xc0 | point >> 6), static_cast<char>(0x80 | (point & 0x3f))};
}

inline std::string in_byte_characters(std::string_view text) {
  std::string all;
  for (const char c : text) all += byte_character(static_cast<unsigned char>(c));
  return all;
}

// Ids: byte b is b, merges from 256 on, then <|endoftext|>.
inline nlohmann::json small_byte_level(
    const std::vector<std::pair<std::string, std::string>>& merges = {
        {"t", "h"}, {"th", "e"}, {" ", "the"}, {"a", "n"}, {"an", "d"}}) {
  nlohmann::json vocabulary, pairs = nlohmann::json::array();
  for (unsigned byte = 0; byte < 256; ++byte) vocabulary[byte_character(byte)] = byte;
  for (const auto& [left, right] : merges) {
    vocabulary[in_byte_characters(left + right)] = 256 + pairs.size();
    pairs.push_back(cat(in_byte_characters(left), " ", in_byte_characters(right)));
  }
  const std::size_t end = 256 + merges.size();
  return {{"added_tokens", {{{"id", end}, {"content", "<|endoftext|>"}, {"special", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", pairs}}}};
}

}  // namespace alibi
