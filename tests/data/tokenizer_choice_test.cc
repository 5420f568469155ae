// Seen failing with a tokenizer trained on what is held out, and with each check left out.
#include "data/recipe.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/error_place.h"
#include "support/small_tokenizer.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

TokenizerConfig bpe(std::int64_t vocabulary, const std::string& file = {}) {
  return {.kind = TokenizerKind::kBpe, .vocabulary = vocabulary, .file = file};
}

TokenizerConfig bytes() { return {.kind = TokenizerKind::kBytes, .file = {}}; }

TEST(TokenizerChoice, GivenOrTrained) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "my.model").string();
  write_file_atomic(file, small_model());
  EXPECT_TRUE(choose_tokenizer(bytes(), TextKind::kTokens).given->is_bytes());
  const TokenizerChoice given = choose_tokenizer(bpe(600, file), TextKind::kTokens);
  EXPECT_EQ(given.given->hash(), small_tokenizer().hash());
  TokenizerConfig config = bpe(500);
  config.sample_bytes = 1234;
  const TokenizerChoice trained = choose_tokenizer(config, TextKind::kText);
  EXPECT_FALSE(trained.given);
  EXPECT_EQ(trained.training.vocabulary, 500);
  EXPECT_EQ(trained.training.sample_bytes, 1234);
}

TEST(TokenizerChoice, WhatDoesNotFitIsRefusedAtItsKey) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "my.model").string();
  write_file_atomic(file, small_model());
  const auto choose = [](const TokenizerConfig& config, TextKind kind) {
    return error_place([&] { choose_tokenizer(config, kind); });
  };
  EXPECT_EQ(choose(bpe(500, file), TextKind::kText), "tokenizer.vocabulary 2");
  EXPECT_EQ(choose(bpe(600), TextKind::kTokens), "tokenizer.file 2");
  EXPECT_EQ(choose(bpe(600, file + "x"), TextKind::kText), file + "x 1");
}

TEST(TokenizerChoice, APreparedFolderMustHaveTheOneAskedFor) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "other.model").string();
  const std::string other = train_tokenizer(text_source(small_text(50'000, 9)),
                                            {.vocabulary = 600, .progress = {}}, "test");
  write_file_atomic(file, other);
  const auto check = [](const TokenizerConfig& config, const Tokenizer& tokenizer) {
    return error_place([&] { check_choice(config, tokenizer, "folder"); });
  };
  EXPECT_EQ(check(bytes(), small_tokenizer()), "tokenizer.kind 2");
  EXPECT_EQ(check(bpe(600), Tokenizer::bytes()), "tokenizer.kind 2");
  EXPECT_EQ(check(bpe(500), small_tokenizer()), "tokenizer.vocabulary 2");
  EXPECT_EQ(check(bpe(600, file), small_tokenizer()), "tokenizer.file 2");
  EXPECT_NO_THROW(check_choice(bpe(600), small_tokenizer(), "folder"));
  EXPECT_NO_THROW(check_choice(bytes(), Tokenizer::bytes(), "folder"));
}

TEST(TokenizerChoice, OnlyTheTrainingSideIsLearnedFrom) {
  const TemporaryFolder folder;
  const std::string text = small_text(60'000);
  write_file_atomic(folder.path() / "a.txt", text);
  const TextCorpus corpus = divide_text({folder.path() / "a.txt"}, {}, 0.5);
  const auto cut = static_cast<std::size_t>(corpus.cut_byte);
  TokenizerChoice choice;
  choice.training = {.vocabulary = 400, .sample_bytes = 1 << 20, .progress = {}};
  std::vector<std::string> notes;
  const Tokenizer trained =
      make_tokenizer(choice, corpus, [&](const std::string& line) { notes.push_back(line); });
  EXPECT_EQ(trained.model(),
            train_tokenizer(text_source(text.substr(0, cut)), choice.training, "test"));
  EXPECT_NE(trained.model(), train_tokenizer(text_source(text), choice.training, "test"));
  EXPECT_EQ(notes.size(), 2U);
  choice.given = Tokenizer::bytes();
  EXPECT_TRUE(make_tokenizer(choice, corpus, {}).is_bytes());
}

}  // namespace
}  // namespace alibi
