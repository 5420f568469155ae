#include "data/tokenizer_choice.h"

#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"

namespace alibi {

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
