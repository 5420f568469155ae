#include "data/prepared.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestJson = 16 << 20;
constexpr const char* kAgain = "remove the folder and prepare the text again";

// Every access says what is missing or of the wrong type.
class Reader {
 public:
  Reader(json value, std::string place) : value_(std::move(value)), place_(std::move(place)) {}

  Reader at(const std::string& key) const {
    if (!value_.is_object() || !value_.contains(key))
      throw Error(place_ + "/" + key, "is missing", kAgain);
    return Reader(value_.at(key), place_ + "/" + key);
  }
  std::int64_t number(const std::string& key) const {
    const Reader found = at(key);
    const bool fits =
        found.value_.is_number_unsigned() && found.value_.get<std::uint64_t>() < (1ull << 62);
    if (!fits) throw Error(found.place_, "is no whole number >= 0", kAgain);
    return found.value_.get<std::int64_t>();
  }
  std::string text(const std::string& key) const {
    const Reader found = at(key);
    if (!found.value_.is_string()) throw Error(found.place_, "is no string", kAgain);
    return found.value_.get<std::string>();
  }
  std::vector<Reader> list(const std::string& key) const {
    const Reader found = at(key);
    if (!found.value_.is_array() || found.value_.empty())
      throw Error(found.place_, "is no list", kAgain);
    std::vector<Reader> all;
    for (const json& value : found.value_)
      all.emplace_back(value, cat(found.place_, "/", all.size()));
    return all;
  }
  void expect(const std::string& key, const std::string& expected) const {
    const std::string found = text(key);
    if (found != expected)
      throw Error(place_ + "/" + key, "is " + found + ", expected " + expected, kAgain);
  }
  void expect(const std::string& key, std::int64_t expected) const {
    const std::int64_t found = number(key);
    if (found != expected)
      throw Error(place_ + "/" + key, cat("is ", found, ", expected ", expected), kAgain);
  }
  const std::string& place() const { return place_; }

 private:
  json value_;
  std::string place_;
};

json to_json(const SplitStatistics& split) {
  return {{"documents", split.documents},
          {"bytes", split.bytes},
          {"tokens", split.tokens},
          {"unknown", split.unknown},
          {"byte_fallback", split.byte_fallback},
          {"changed_documents", split.changed_documents}};
}

SplitStatistics statistics_from(const Reader& reader) {
  SplitStatistics split;
  split.documents = reader.number("documents");
  split.bytes = reader.number("bytes");
  split.tokens = reader.number("tokens");
  split.unknown = reader.number("unknown");
  split.byte_fallback = reader.number("byte_fallback");
  split.changed_documents = reader.number("changed_documents");
  return split;
}

std::string shard_name(const std::string& split, std::size_t index) {
  std::string digits = std::to_string(index);
  digits.insert(0, digits.size() < 5 ? 5 - digits.size() : 0, '0');
  return split + "-" + digits + ".tokens";
}

json split_json(const std::string& name, const TokenShards& shards,
                const SplitStatistics& statistics) {
  json files = json::array();
  for (const ShardHeader& header : shards.headers()) {
    files.push_back({{"name", shard_name(name, files.size())},
                     {"tokens", header.tokens},
                     {"sha256", header.payload_sha256}});
  }
  return {{"files", files}, {"statistics", to_json(statistics)}};
}

TokenShards open_split(const Reader& reader, const fs::path& folder, const std::string& split,
                       std::int64_t vocabulary) {
  std::vector<fs::path> paths;
  const std::vector<Reader> files = reader.list("files");
  for (const Reader& file : files) {
    file.expect("name", shard_name(split, paths.size()));
    paths.push_back(folder / shard_name(split, paths.size()));
  }
  TokenShards shards = TokenShards::open(paths, vocabulary);
  const std::vector<ShardHeader> headers = shards.headers();
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].expect("sha256", headers[i].payload_sha256);
    files[i].expect("tokens", headers[i].tokens);
  }
  reader.at("statistics").expect("tokens", shards.size());
  reader.at("statistics").expect("documents", shards.documents());
  return shards;
}

Tokenizer open_tokenizer(const Reader& reader, const fs::path& folder) {
  const std::string kind = reader.text("kind");
  if (kind != "bpe" && kind != "bytes") {
    throw Error(reader.place() + "/kind", "is " + kind + ", expected bpe or bytes", kAgain);
  }
  Tokenizer tokenizer =
      kind == "bytes" ? Tokenizer::bytes() : Tokenizer::from_file(folder / "tokenizer.model");
  reader.expect("sha256", tokenizer.hash());
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
  const fs::path path = folder / "prepared.json";
  json parsed = json::parse(read_file(path, kLargestJson), nullptr, false);
  if (parsed.is_discarded()) throw Error(path.string(), "is no valid JSON", kAgain);
  const Reader reader(std::move(parsed), path.string() + ": ");
  if (const std::int64_t version = reader.number("format_version");
      version != kPreparedFormatVersion) {
    throw Error(path.string(),
                cat("has format version ", version, ", expected ", kPreparedFormatVersion), kAgain);
  }
  const Tokenizer tokenizer = open_tokenizer(reader.at("tokenizer"), folder);
  const TokenShards train = open_split(reader.at("train"), folder, "train", tokenizer.vocabulary());
  const TokenShards valid = open_split(reader.at("valid"), folder, "valid", tokenizer.vocabulary());
  PreparedStatistics statistics;
  statistics.train = statistics_from(reader.at("train").at("statistics"));
  statistics.valid = statistics_from(reader.at("valid").at("statistics"));
  statistics.empty_documents = reader.number("empty_documents");
  statistics.files = reader.number("files");
  statistics.other_files = reader.number("other_files");
  statistics.hold_out = reader.text("hold_out");
  return {folder, tokenizer, train, valid, statistics, hash_of(tokenizer, train, valid), true};
}

void write_prepared(const fs::path& folder, const Tokenizer& tokenizer, const TokenShards& train,
                    const TokenShards& valid, const PreparedStatistics& statistics) {
  if (!tokenizer.is_bytes()) write_file_atomic(folder / "tokenizer.model", tokenizer.model());
  const json prepared = {{"format_version", kPreparedFormatVersion},
                         {"tokenizer",
                          {{"kind", tokenizer.is_bytes() ? "bytes" : "bpe"},
                           {"vocabulary", tokenizer.vocabulary()},
                           {"sha256", tokenizer.hash()}}},
                         {"train", split_json("train", train, statistics.train)},
                         {"valid", split_json("valid", valid, statistics.valid)},
                         {"empty_documents", statistics.empty_documents},
                         {"files", statistics.files},
                         {"other_files", statistics.other_files},
                         {"hold_out", statistics.hold_out}};
  write_file_atomic(folder / "prepared.json", prepared.dump(2) + "\n");
}

}  // namespace alibi
