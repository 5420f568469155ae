// Seen failing with prompts not marked, with a document's change counted once for each part, and
// with the note left out.
#include "data/tokenise.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/small_tokenizer.h"
#include "support/temporary_folder.h"
#include "support/token_at.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

struct Tokenised {
  TemporaryFolder folder;
  std::vector<std::string> notes;
  std::vector<std::int64_t> done;

  TokenisedText make(const std::vector<std::pair<std::string, std::string>>& train,
                     const std::vector<std::pair<std::string, std::string>>& valid,
                     const Tokenizer& tokenizer, double valid_fraction = 0) {
    const Corpus corpus = divide_text(put(train), put(valid), valid_fraction);
    PrepareProgress progress;
    progress.note = [this](const std::string& line) { notes.push_back(line); };
    progress.bytes = [this](std::int64_t now, std::int64_t) { done.push_back(now); };
    return tokenise(corpus, tokenizer, 2, progress, folder.path());
  }

 private:
  std::vector<fs::path> put(const std::vector<std::pair<std::string, std::string>>& files) const {
    std::vector<fs::path> paths;
    for (const auto& [name, text] : files) {
      paths.push_back(folder.path() / name);
      write_file_atomic(paths.back(), text);
    }
    return paths;
  }
};

TEST(Tokenise, CountsWhatItWrites) {
  Tokenised test;
  const Tokenizer tokenizer = small_tokenizer();
  // Read as a space by sentencepiece, in both parts of a long document.
  const std::string changed = "\xe2\x96\x81" + small_text(2'000'000) + "\xe2\x96\x81";
  const TokenisedText text = test.make({{"a.txt", changed}, {"b.txt", "kalo \xf0\x9f\x98\x80"}},
                                       {{"v.txt", "mi"}}, tokenizer);
  const SplitStatistics& train = text.statistics.train;
  EXPECT_EQ(train.documents, 2);
  EXPECT_EQ(train.bytes, std::ssize(changed) + 9);
  EXPECT_EQ(train.tokens, text.train.size());
  EXPECT_EQ(train.changed_documents, 1);
  EXPECT_GE(train.byte_fallback, 4);
  EXPECT_EQ(train.unknown, 0);
  EXPECT_EQ(text.statistics.valid.documents, 1);
  EXPECT_EQ(text.valid.documents(), 1);
  EXPECT_EQ(text.statistics.hold_out, "data.valid");
  ASSERT_GT(test.done.size(), 2U);
  EXPECT_EQ(test.done.back(), train.bytes + 2);
  EXPECT_TRUE(fs::exists(test.folder.path() / "train-00000.tokens"));
  EXPECT_TRUE(test.notes.empty());
}

TEST(Tokenise, PromptsAreMarked) {
  Tokenised test;
  const TokenisedText text = test.make(
      {{"a.jsonl", "{\"prompt\": \"ab\", \"completion\": \"c\"}\n"}}, {}, Tokenizer::bytes());
  ASSERT_EQ(text.train.size(), 4);
  EXPECT_EQ(text.train.target_count(), 2);
  EXPECT_TRUE(is_marked(token_at(text.train, 1)));
  EXPECT_FALSE(is_marked(token_at(text.train, 2)));
}

TEST(Tokenise, AShareFarAboveTheOneAskedForIsNoted) {
  Tokenised few;
  few.make({{"a.txt", "ab\n"}}, {}, Tokenizer::bytes(), 0.05);
  EXPECT_EQ(few.notes.size(), 1U);
  Tokenised given;
  given.make({{"a.txt", "ab\n"}}, {{"v.txt", "abc"}}, Tokenizer::bytes(), 0.05);
  EXPECT_TRUE(given.notes.empty());
}

}  // namespace
}  // namespace alibi
