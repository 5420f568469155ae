// A file of token ids, little-endian throughout:
//
//   offset size
//        0    8  magic "ALIBITOK"
//        8    4  format version, 1
//       12    4  bytes of one id: 2 when the vocabulary is at most 65536, else 4
//       16    8  vocabulary: every id is below it
//       24    8  tokens
//       32    8  documents that end in this file
//       40   24  zero
//       64   32  SHA-256 of the ids
//       96   32  SHA-256 of bytes 0 to 95
//      128    .  the ids, unsigned, nothing after them
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/checksums.h"
#include "base/files.h"
#include "base/mapped_file.h"

namespace alibi {

inline constexpr std::uint64_t kShardHeaderBytes = 128;

struct ShardHeader {
  std::int64_t vocabulary = 0;
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  int id_bytes = 2;
  std::string payload_sha256;  // 64 hexadecimal digits
};

// Writes beside `path` and takes its name in finish(); what was not finished is removed.
class ShardWriter {
 public:
  ShardWriter(std::filesystem::path path, std::int64_t vocabulary);

  void append(std::span<const std::int32_t> ids);  // each in [0, vocabulary)
  void count_document() { ++header_.documents; }
  std::int64_t tokens() const { return header_.tokens; }
  ShardHeader finish();  // fsync and rename; call once, nothing after it

 private:
  StagedPath staged_;
  ShardHeader header_;
  Sha256 digest_;
  std::vector<std::byte> buffer_;
  std::unique_ptr<OutputFile> file_;
};

// The header of a whole shard in memory, when all of it is sound: header, length, checksum, ids.
// Throws Error at `place` that says what is wrong.
ShardHeader parse_shard(std::span<const std::byte> bytes, const std::string& place);

// A checked file, mapped: every field, the size, both checksums and every id hold once this is
// made.
class ShardFile {
 public:
  explicit ShardFile(const std::filesystem::path& path);  // throws Error naming what is wrong
  const ShardHeader& header() const { return header_; }
  std::int64_t size() const { return header_.tokens; }
  std::int32_t operator[](std::int64_t index) const;                 // inside 0 .. size() - 1
  void read(std::int64_t first, std::span<std::int64_t> out) const;  // wholly inside
  std::int64_t count(std::int32_t id) const;                         // how often it occurs
  std::int64_t count_below(std::int64_t id) const;                   // smaller ids

 private:
  MappedFile file_;
  ShardHeader header_;
  const std::byte* ids_ = nullptr;
};

}  // namespace alibi
