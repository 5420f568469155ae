#include "data/recipe.h"

#include <filesystem>
#include <string_view>
#include <variant>
#include <vector>

#include "base/checksums.h"
#include "base/error.h"
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

TokenizerChoice choose_tokenizer(const TokenizerConfig& config, TextKind kind) {
  TokenizerChoice choice;
  if (config.kind == TokenizerKind::kBytes) {
    choice.given = Tokenizer::bytes();
    return choice;
  }
  if (config.file.empty()) {
    if (kind == TextKind::kTokens)
      throw usage_error("tokenizer.file", "is not given, and data.train holds token ids",
                        "name the tokenizer that they were made with");
    choice.training.vocabulary = config.vocabulary;
    choice.training.sample_bytes = config.sample_bytes;
    return choice;
  }
  choice.given = Tokenizer::from_file(config.file);
  const std::int64_t found = choice.given->vocabulary();
  if (found != config.vocabulary) {
    throw usage_error("tokenizer.vocabulary",
                      cat(config.vocabulary, ", but ", config.file, " has ", found, " tokens"),
                      cat("set tokenizer.vocabulary to ", found));
  }
  return choice;
}

Tokenizer make_tokenizer(const TokenizerChoice& choice, const Corpus& corpus,
                         const std::function<void(const std::string&)>& note) {
  if (choice.given) return *choice.given;
  const auto& text = std::get<TextCorpus>(corpus);
  TextSource source;
  source.bytes = text.train_bytes;
  source.for_each = [&](const std::function<void(std::string_view)>& take) {
    for_each_part(text, true, [&](const DocumentView& part, Split) {
      leave_if_stopped("prepare");
      take(part.text);
      return true;
    });
  };
  TokenizerTraining training = choice.training;
  training.progress = note;
  return Tokenizer::from_model(train_tokenizer(source, training, "tokenizer"),
                               "the tokenizer just trained");
}

void check_choice(const TokenizerConfig& config, const Tokenizer& tokenizer,
                  const std::string& name) {
  const auto kind = tokenizer.is_bytes() ? TokenizerKind::kBytes : TokenizerKind::kBpe;
  if (config.kind != kind) {
    throw usage_error("tokenizer.kind", cat(name_of(config.kind), ", but ", name,
                                            " was prepared with ", name_of(kind)));
  }
  if (tokenizer.is_bytes()) return;
  if (tokenizer.vocabulary() != config.vocabulary) {
    throw usage_error("tokenizer.vocabulary", cat(config.vocabulary, ", but ", name,
                                                  " was prepared with ", tokenizer.vocabulary()));
  }
  if (!config.file.empty() && Tokenizer::from_file(config.file).hash() != tokenizer.hash()) {
    throw usage_error("tokenizer.file",
                      cat(config.file, " is not the tokenizer that ", name, " was prepared with"));
  }
}

}  // namespace alibi
