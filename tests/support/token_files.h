// Files of token ids as nanoGPT, llm.c and Megatron write them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"

namespace alibi {

template <class Number>
std::string raw(const std::vector<std::int64_t>& numbers) {
  std::string bytes;
  for (const std::int64_t number : numbers) {
    const auto value = static_cast<Number>(number);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

inline std::string llm_c(std::int64_t magic, std::int64_t version, std::int64_t count) {
  std::vector<std::int64_t> head(256);
  head[0] = magic;
  head[1] = version;
  head[2] = count;
  return raw<std::int32_t>(head);
}

// Sequences of `lengths` tokens of `bytes` bytes; documents as indices into them.
inline std::string megatron_index(std::uint8_t code, int bytes,
                                  const std::vector<std::int64_t>& lengths,
                                  const std::vector<std::int64_t>& documents) {
  std::vector<std::int64_t> offsets;
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    offsets.push_back(at);
    at += length * bytes;
  }
  return std::string("MMIDIDX\0\0", 9) + raw<std::uint64_t>({1}) + raw<std::uint8_t>({code}) +
         raw<std::uint64_t>({std::ssize(lengths), std::ssize(documents)}) +
         raw<std::int32_t>(lengths) + raw<std::int64_t>(offsets) + raw<std::int64_t>(documents);
}

}  // namespace alibi
