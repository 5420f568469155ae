// One split (train or valid) as a flat address space of tokens over mapped files; layout of a file
// in formats/shard.h. Every document ends with the end token, and no other token is one.
//
// Where a tokenizer has V ids, files of vocabulary 2 V hold the marked id i as V + i.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/shard.h"
#include "text/tokenizer.h"

namespace alibi {

std::string shard_name(const std::string& split, std::size_t index);  // "train-00000.tokens"

// A value: copies share the mapped files.
class TokenShards {
 public:
  // Reads and checks everything once, every id included. Throws Error naming file and fault.
  static TokenShards open(const std::vector<std::filesystem::path>& files,
                          std::int64_t expected_vocabulary, std::int32_t end = Tokenizer::kEnd);

  std::int64_t size() const { return starts_.back(); }
  std::int64_t documents() const { return documents_; }
  std::int64_t vocabulary() const { return vocabulary_; }
  std::int32_t end() const { return end_; }                    // the token behind every document
  std::int64_t target_count() const { return target_count_; }  // tokens without a mark
  // Ids, marked where they are not learned.
  void read(std::int64_t first, std::span<std::int64_t> out) const;  // wholly inside
  const std::string& hash() const { return hash_; }                  // over the files' checksums
  std::vector<ShardHeader> headers() const;

 private:
  TokenShards() = default;
  std::size_t file_of(std::int64_t index) const;
  std::int64_t from_file(std::int64_t id) const;

  std::vector<std::shared_ptr<const ShardFile>> files_;
  std::vector<std::int64_t> starts_ = {0};  // file i holds tokens starts_[i] .. starts_[i + 1] - 1
  std::int64_t documents_ = 0;
  std::int64_t target_count_ = 0;
  std::int64_t vocabulary_ = 0;
  std::int32_t end_ = Tokenizer::kEnd;
  std::string hash_;
};

struct ShardIds {
  std::int64_t vocabulary = 0;
  bool marks = false;  // some are marked
};

// Writes `folder/name-00000.tokens`, `-00001`, ... ; at least one file, even without a token.
class ShardSetWriter {
 public:
  static constexpr std::int64_t kTokensPerFile = std::int64_t{1} << 28;
  ShardSetWriter(std::filesystem::path folder, std::string name, ShardIds ids,
                 std::int64_t tokens_per_file = kTokensPerFile);
  void append(std::span<const std::int32_t> ids);
  void end_document();                          // counts the end token just appended
  std::vector<std::filesystem::path> finish();  // the files, durable

 private:
  void start_file();
  void append_here(std::span<const std::int32_t> ids);

  std::filesystem::path folder_;
  std::string name_;
  ShardIds ids_;
  std::int64_t tokens_per_file_;
  std::vector<std::filesystem::path> files_;
  std::unique_ptr<ShardWriter> writer_;
};

}  // namespace alibi
