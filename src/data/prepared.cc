#include "data/prepared.h"

#include <string_view>
#include <system_error>
#include <vector>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/record.h"
#include "base/json/write.h"
#include "base/printable.h"
#include "base/strings.h"
#include "config/training_config.h"

namespace alibi {
namespace fs = std::filesystem;

constexpr const char* kAgain = "remove the folder and prepare the text again";

struct PreparedTokenizer {
  TokenizerKind kind = TokenizerKind::kBpe;
  std::int64_t vocabulary = 0;
  std::string sha256;
};

template <class Fields>
void fields(Fields& f, PreparedTokenizer& tokenizer) {
  f("kind", tokenizer.kind);
  f("vocabulary", tokenizer.vocabulary);
  f("sha256", tokenizer.sha256);
}

struct PreparedShard {
  std::string name;
  std::int64_t tokens = 0;
  std::string sha256;
};

template <class Fields>
void fields(Fields& f, PreparedShard& shard) {
  f("name", shard.name);
  f("tokens", shard.tokens);
  f("sha256", shard.sha256);
}

template <class Fields>
void fields(Fields& f, SplitStatistics& s) {
  f("documents", s.documents);
  f("bytes", s.bytes);
  f("tokens", s.tokens);
  f("unknown", s.unknown);
  f("byte_fallback", s.byte_fallback);
  f("changed_documents", s.changed_documents);
}

struct PreparedSplit {
  std::vector<PreparedShard> files;
  SplitStatistics statistics;
};

template <class Fields>
void fields(Fields& f, PreparedSplit& split) {
  f("files", split.files);
  f("statistics", split.statistics);
}

// prepared.json
struct PreparedFile {
  PreparedTokenizer tokenizer;
  PreparedSplit train, valid;
  std::int64_t empty_documents = 0, files = 0, other_files = 0;
  std::string hold_out;
};

template <class Fields>
void fields(Fields& f, PreparedFile& file) {
  f.format({.newest = kPreparedFormatVersion, .way_out = kAgain});
  f("tokenizer", file.tokenizer);
  f("train", file.train);
  f("valid", file.valid);
  f("empty_documents", file.empty_documents);
  f("files", file.files);
  f("other_files", file.other_files);
  f("hold_out", file.hold_out);
}

namespace {

constexpr std::uint64_t kLargestJson = 16 << 20;
constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;  // no text is larger
template <class T>
void expect(const std::string& place, const T& found, const T& expected) {
  if (found != expected) throw Error(place, cat("is ", found, ", expected ", expected), kAgain);
}

PreparedSplit split_of(const TokenShards& shards, const std::string& name,
                       const SplitStatistics& statistics) {
  PreparedSplit split{{}, statistics};
  for (const ShardHeader& header : shards.headers())
    split.files.push_back(
        {shard_name(name, split.files.size()), header.tokens, header.payload_sha256});
  return split;
}

TokenShards open_split(const PreparedSplit& split, const fs::path& folder, const std::string& name,
                       const Tokenizer& tokenizer, const std::string& place) {
  if (split.files.empty()) throw Error(place + "/files", "is empty", kAgain);
  std::vector<fs::path> paths;
  for (const PreparedShard& file : split.files) {
    const std::string plain_name = shard_name(name, paths.size());
    expect(cat(place, "/files/", paths.size(), "/name"), shown(file.name), shown(plain_name));
    paths.push_back(folder / plain_name);
  }
  TokenShards shards = TokenShards::open(paths, tokenizer.vocabulary(), tokenizer.end());
  const PreparedSplit expected = split_of(shards, name, {});
  for (std::size_t i = 0; i < split.files.size(); ++i) {
    const std::string here = cat(place, "/files/", i);
    expect(here + "/sha256", shown(split.files[i].sha256), shown(expected.files[i].sha256));
    expect(here + "/tokens", split.files[i].tokens, expected.files[i].tokens);
  }
  expect(place + "/statistics/tokens", split.statistics.tokens, shards.size());
  expect(place + "/statistics/documents", split.statistics.documents, shards.documents());
  const SplitStatistics& counted = split.statistics;
  const auto check = [&](const char* of, std::int64_t found, std::int64_t most) {
    if (found > most)
      throw Error(cat(place, "/statistics/", of), cat("is ", found, ", expected at most ", most),
                  kAgain);
  };
  check("bytes", counted.bytes, kMostBytes);
  check("unknown", counted.unknown, counted.tokens);
  check("byte_fallback", counted.byte_fallback, counted.tokens);
  check("changed_documents", counted.changed_documents, counted.documents);
  return shards;
}

Tokenizer open_tokenizer(const PreparedTokenizer& found, const fs::path& folder,
                         const std::string& place) {
  const bool bytes = found.kind == TokenizerKind::kBytes;
  Tokenizer tokenizer = bytes ? Tokenizer::bytes() : Tokenizer::from_folder(folder);
  expect(place + "/sha256", shown(found.sha256), shown(tokenizer.hash()));
  expect(place + "/vocabulary", found.vocabulary, std::int64_t{tokenizer.vocabulary()});
  return tokenizer;
}

std::string hash_of(const Tokenizer& tokenizer, const TokenShards& train,
                    const TokenShards& valid) {
  return sha256_hex(
      cat("alibi data 1\n", tokenizer.hash(), "\n", train.hash(), "\n", valid.hash(), "\n"));
}

}  // namespace

double SplitStatistics::bytes_per_token() const {
  const std::int64_t counted = tokens - documents;
  return counted > 0 ? static_cast<double>(bytes) / static_cast<double>(counted) : 0;
}

bool is_prepared(const fs::path& folder) {
  std::error_code code;
  return fs::is_regular_file(folder / "prepared.json", code);
}

PreparedText open_prepared(const fs::path& folder) {
  const std::string place = (folder / "prepared.json").string();
  const Json json = parse_json(read_file(place, kLargestJson), place);
  const auto file = read_record<PreparedFile>(JsonReader(json, place));
  const Tokenizer tokenizer = open_tokenizer(file.tokenizer, folder, place + ": /tokenizer");
  const TokenShards train = open_split(file.train, folder, "train", tokenizer, place + ": /train");
  const TokenShards valid = open_split(file.valid, folder, "valid", tokenizer, place + ": /valid");
  const PreparedStatistics statistics{file.train.statistics, file.valid.statistics,
                                      file.empty_documents,  file.files,
                                      file.other_files,      file.hold_out};
  return {folder, tokenizer, train, valid, statistics, hash_of(tokenizer, train, valid), true};
}

void write_prepared(const fs::path& folder, const Tokenizer& tokenizer, const TokenShards& train,
                    const TokenShards& valid, const PreparedStatistics& statistics) {
  if (!tokenizer.is_bytes())
    write_file_atomic(folder / Tokenizer::file_name(tokenizer.model()), tokenizer.model());
  const auto kind = tokenizer.is_bytes() ? TokenizerKind::kBytes : TokenizerKind::kBpe;
  const PreparedFile file{{kind, tokenizer.vocabulary(), tokenizer.hash()},
                          split_of(train, "train", statistics.train),
                          split_of(valid, "valid", statistics.valid),
                          statistics.empty_documents,
                          statistics.files,
                          statistics.other_files,
                          statistics.hold_out};
  write_file_atomic(folder / "prepared.json", write_json(to_json(file), {.indent = 2}) + "\n");
}

}  // namespace alibi
