// Files of token ids that other trainers made, checked before use; all little-endian:
//
//   nanoGPT   NAME.bin: uint16 ids and nothing else
//   llm.c     NAME.bin: 256 int32, of which [0] 20240520, [1] 1, [2] the number of ids, then uint16
//             ids; or 20240801 and 7, then uint32
//   Megatron  NAME.bin of ids, and NAME.idx: "MMIDIDX\0\0", uint64 version 1, uint8 type of an id,
//             uint64 sequences S, uint64 entries D + 1, int32 lengths[S], int64 offsets[S] in
//             NAME.bin, int64 documents[D + 1] as indices into the sequences
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace alibi {

// By its name: ends in .bin.
bool is_token_file(const std::filesystem::path& file);

class TokenFile {
 public:
  // Throws Error naming file, what was found and what was expected.
  explicit TokenFile(const std::filesystem::path& file);

  const char* format() const { return format_; }  // "nanoGPT", "llm.c", "Megatron"
  std::int64_t size() const { return tokens_; }
  // Inside 0 .. size() - 1. Negative where the file holds signed ids that are.
  std::int64_t operator[](std::int64_t index) const;
  // Where documents begin, and size() at the end; nothing where only end tokens tell.
  const std::optional<std::vector<std::int64_t>>& documents() const { return documents_; }
  const std::string& name() const { return name_; }
  // Names the NAME.bin and, for Megatron, its NAME.idx: what the ids depend on.
  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  bool looks_wide() const;
  void read_llm_c();
  void read_megatron(std::span<const std::byte> index, const std::string& place);

  std::string name_;
  std::vector<std::filesystem::path> files_;
  MappedFile file_;
  static constexpr const char* kNanoGpt = "nanoGPT";
  const char* format_ = kNanoGpt;
  std::span<const std::byte> ids_;
  int id_bytes_ = 2;
  bool is_signed_ = false;
  std::int64_t tokens_ = 0;
  std::optional<std::vector<std::int64_t>> documents_;
};

}  // namespace alibi
