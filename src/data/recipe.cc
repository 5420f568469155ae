#include "data/recipe.h"

#include <filesystem>
#include <vector>

#include "base/checksums.h"
#include "base/stop.h"
#include "base/strings.h"
#include "data/prepared.h"
#include "formats/token_file.h"
#include "text/packed_text.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

// What decides how a file is read: ".txt", ".jsonl.gz", ".bin".
std::string ending(const fs::path& file) {
  const std::string inner = unpacked_name(file).extension().string();
  return is_packed(file) ? inner + file.extension().string() : inner;
}

// The ids of a token file depend on its index, too.
std::vector<fs::path> parts_of(const fs::path& file, TextKind kind) {
  return kind == TextKind::kTokens ? TokenFile(file).files() : std::vector<fs::path>{file};
}

std::string content_key(const char* split, const std::vector<fs::path>& files, TextKind kind) {
  std::string key;
  for (const fs::path& file : files) {
    for (const fs::path& part : parts_of(file, kind)) {
      leave_if_stopped("prepare");
      key += cat(split, " ", ending(part), " ", sha256_file(part), "\n");
    }
  }
  return key;
}

std::string tokenizer_key(const TokenizerChoice& choice) {
  if (choice.given) return cat("tokenizer ", choice.given->hash(), "\n");
  return cat("bpe 1 ", choice.training.vocabulary, " ", choice.training.sample_bytes, "\n");
}

}  // namespace

std::string cache_name(const Recipe& recipe) {
  const NamedText& text = recipe.text;
  std::string key = cat("alibi prepared text ", kPreparedFormatVersion, "\n");
  key += content_key("train", text.train.files, text.kind());
  key += content_key("valid", text.valid.files, text.kind());
  if (text.valid.files.empty())
    key += cat("valid_fraction ", significant(recipe.valid_fraction, 17), "\n");
  key += tokenizer_key(recipe.tokenizer);
  return sha256_hex(key).substr(0, 32);
}

}  // namespace alibi
