#include "data/prepared.h"

#include <string_view>
#include <system_error>
#include <vector>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "formats/strict_json.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestJson = 16 << 20;
constexpr const char* kAgain = "remove the folder and prepare the text again";

// One object of prepared.json and the pointer to it, for messages.
struct Part {
  const StrictObject& object;
  std::string place;
  bool whole_file = false;

  Part at(std::string_view key) const {
    return {as_object(required(object, key, place), pointer(key)), pointer(key)};
  }
  std::string pointer(std::string_view key) const {
    return cat(place, whole_file ? ": /" : "/", key);
  }
  std::int64_t count(std::string_view key) const {
    return as_count(required(object, key, place), pointer(key));
  }
  const std::string& text(std::string_view key) const {
    return as_string(required(object, key, place), pointer(key));
  }
  void expect(std::string_view key, const std::string& expected) const {
    if (text(key) != expected) {
      throw Error(pointer(key), cat("is ", shown(text(key)), ", expected ", expected), kAgain);
    }
  }
  void expect(std::string_view key, std::int64_t expected) const {
    const std::int64_t found = count(key);
    if (found != expected)
      throw Error(pointer(key), cat("is ", found, ", expected ", expected), kAgain);
  }
};

SplitStatistics statistics_from(const Part& part) {
  return {part.count("documents"), part.count("bytes"),         part.count("tokens"),
          part.count("unknown"),   part.count("byte_fallback"), part.count("changed_documents")};
}

std::string split_json(const std::string& name, const TokenShards& shards,
                       const SplitStatistics& s) {
  std::vector<std::string> files;
  for (const ShardHeader& header : shards.headers()) {
    files.push_back(cat("{\"name\": ", json_quoted(shard_name(name, files.size())),
                        ", \"tokens\": ", header.tokens,
                        ", \"sha256\": ", json_quoted(header.payload_sha256), "}"));
  }
  return cat("{\n    \"files\": [", join(files, ",\n              "),
             "],\n    \"statistics\": {\"documents\": ", s.documents, ", \"bytes\": ", s.bytes,
             ", \"tokens\": ", s.tokens, ", \"unknown\": ", s.unknown,
             ", \"byte_fallback\": ", s.byte_fallback,
             ", \"changed_documents\": ", s.changed_documents, "}\n  }");
}

TokenShards open_split(const Part& part, const fs::path& folder, const std::string& split,
                       const Tokenizer& tokenizer) {
  const StrictArray& files =
      as_array(required(part.object, "files", part.place), part.pointer("files"));
  if (files.empty()) throw Error(part.pointer("files"), "is empty", kAgain);
  std::vector<Part> parts;
  std::vector<fs::path> paths;
  for (const StrictJson& file : files) {
    const std::string place = cat(part.pointer("files"), "/", parts.size());
    parts.push_back({as_object(file, place), place});
    parts.back().expect("name", shard_name(split, paths.size()));
    paths.push_back(folder / shard_name(split, paths.size()));
  }
  TokenShards shards = TokenShards::open(paths, tokenizer.vocabulary(), tokenizer.end());
  const std::vector<ShardHeader> headers = shards.headers();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].expect("sha256", headers[i].payload_sha256);
    parts[i].expect("tokens", headers[i].tokens);
  }
  part.at("statistics").expect("tokens", shards.size());
  part.at("statistics").expect("documents", shards.documents());
  return shards;
}

Tokenizer open_tokenizer(const Part& part, const fs::path& folder) {
  const std::string& kind = part.text("kind");
  if (kind != "bpe" && kind != "bytes") {
    throw Error(part.pointer("kind"), cat("is ", shown(kind), ", expected bpe or bytes"), kAgain);
  }
  Tokenizer tokenizer = kind == "bytes" ? Tokenizer::bytes() : Tokenizer::from_folder(folder);
  part.expect("sha256", tokenizer.hash());
  part.expect("vocabulary", tokenizer.vocabulary());
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
  const StrictObject object = parse_strict_json(read_file(path, kLargestJson), path.string());
  const Part root{object, path.string(), true};
  root.expect("format_version", std::int64_t{kPreparedFormatVersion});
  const Tokenizer tokenizer = open_tokenizer(root.at("tokenizer"), folder);
  const TokenShards train = open_split(root.at("train"), folder, "train", tokenizer);
  const TokenShards valid = open_split(root.at("valid"), folder, "valid", tokenizer);
  PreparedStatistics statistics;
  statistics.train = statistics_from(root.at("train").at("statistics"));
  statistics.valid = statistics_from(root.at("valid").at("statistics"));
  statistics.empty_documents = root.count("empty_documents");
  statistics.files = root.count("files");
  statistics.other_files = root.count("other_files");
  statistics.hold_out = root.text("hold_out");
  return {folder, tokenizer, train, valid, statistics, hash_of(tokenizer, train, valid), true};
}

void write_prepared(const fs::path& folder, const Tokenizer& tokenizer, const TokenShards& train,
                    const TokenShards& valid, const PreparedStatistics& statistics) {
  if (!tokenizer.is_bytes())
    write_file_atomic(folder / Tokenizer::file_name(tokenizer.model()), tokenizer.model());
  const std::string text =
      cat("{\n  \"format_version\": ", kPreparedFormatVersion, ",\n  \"tokenizer\": {\"kind\": \"",
          tokenizer.is_bytes() ? "bytes" : "bpe", "\", \"vocabulary\": ", tokenizer.vocabulary(),
          ", \"sha256\": ", json_quoted(tokenizer.hash()),
          "},\n  \"train\": ", split_json("train", train, statistics.train),
          ",\n  \"valid\": ", split_json("valid", valid, statistics.valid),
          ",\n  \"empty_documents\": ", statistics.empty_documents,
          ",\n  \"files\": ", statistics.files, ",\n  \"other_files\": ", statistics.other_files,
          ",\n  \"hold_out\": ", json_quoted(statistics.hold_out), "\n}\n");
  write_file_atomic(folder / "prepared.json", text);
}

}  // namespace alibi
