#include "data/shards.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;

TokenShards TokenShards::open(const std::vector<fs::path>& files, std::int64_t expected_vocabulary,
                              std::int32_t end) {
  ensure(!files.empty(), "a split has at least one file");
  TokenShards shards;
  shards.vocabulary_ = expected_vocabulary;
  shards.end_ = end;
  Sha256 digest;
  for (const fs::path& path : files) {
    auto file = std::make_shared<const ShardFile>(path);
    const ShardHeader& header = file->header();
    const bool marks = header.vocabulary == 2 * expected_vocabulary;
    if (header.vocabulary != expected_vocabulary && !marks) {
      throw Error(path.string(),
                  cat("has vocabulary ", header.vocabulary, ", expected ", expected_vocabulary),
                  "it was made with another tokenizer: prepare the text again");
    }
    const std::int64_t ends = file->count(end);
    if (ends != header.documents) {
      throw Error(path.string(),
                  cat("header says ", header.documents, " documents, but ", ends, " end in it"),
                  "prepare the text again");
    }
    digest.update(header.payload_sha256);
    shards.starts_.push_back(shards.starts_.back() + header.tokens);
    shards.documents_ += header.documents;
    shards.target_count_ += marks ? file->count_below(expected_vocabulary) : header.tokens;
    shards.files_.push_back(std::move(file));
  }
  shards.hash_ = digest.hex();
  return shards;
}

std::size_t TokenShards::file_of(std::int64_t index) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
  return static_cast<std::size_t>(after - starts_.begin()) - 1;
}

std::int64_t TokenShards::from_file(std::int64_t id) const {
  return id < vocabulary_ ? id : marked(static_cast<std::int32_t>(id - vocabulary_));
}

void TokenShards::read(std::int64_t first, std::span<std::int64_t> out) const {
  const auto wanted = static_cast<std::int64_t>(out.size());
  ensure(first >= 0 && wanted <= size() && first <= size() - wanted,
         "tokens lie inside their split");
  while (!out.empty()) {
    const std::size_t file = file_of(first);
    const std::int64_t here =
        std::min(starts_[file + 1] - first, static_cast<std::int64_t>(out.size()));
    const auto part = out.first(static_cast<std::size_t>(here));
    files_[file]->read(first - starts_[file], part);
    if (target_count_ < size())
      std::ranges::transform(part, part.begin(), [this](std::int64_t id) { return from_file(id); });
    out = out.subspan(static_cast<std::size_t>(here));
    first += here;
  }
}

std::vector<ShardHeader> TokenShards::headers() const {
  std::vector<ShardHeader> all;
  for (const auto& file : files_) all.push_back(file->header());
  return all;
}

std::string shard_name(const std::string& split, std::size_t index) {
  return cat(split, "-", zero_padded(index, 5), ".tokens");
}

ShardSetWriter::ShardSetWriter(fs::path folder, std::string name, ShardIds ids,
                               std::int64_t tokens_per_file)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      ids_(ids),
      tokens_per_file_(tokens_per_file) {
  start_file();
}

void ShardSetWriter::start_file() {
  files_.push_back(folder_ / shard_name(name_, files_.size()));
  writer_ = std::make_unique<ShardWriter>(files_.back(), (ids_.marks ? 2 : 1) * ids_.vocabulary);
}

void ShardSetWriter::append(std::span<const std::int32_t> ids) {
  while (!ids.empty()) {
    if (writer_->tokens() == tokens_per_file_) {
      writer_->finish();
      start_file();
    }
    const auto room = static_cast<std::size_t>(tokens_per_file_ - writer_->tokens());
    const auto part = ids.first(std::min(room, ids.size()));
    append_here(part);
    ids = ids.subspan(part.size());
  }
}

void ShardSetWriter::append_here(std::span<const std::int32_t> ids) {
  if (!ids_.marks) return writer_->append(ids);
  std::vector<std::int32_t> stored(ids.begin(), ids.end());
  for (std::int32_t& id : stored)
    if (is_marked(id)) id = static_cast<std::int32_t>(ids_.vocabulary + unmarked(id));
  writer_->append(stored);
}

void ShardSetWriter::end_document() { writer_->count_document(); }

std::vector<fs::path> ShardSetWriter::finish() {
  writer_->finish();
  writer_.reset();
  return files_;
}

}  // namespace alibi
