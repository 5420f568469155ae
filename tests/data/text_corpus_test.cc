#include "data/corpus.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "support/error_place.h"
#include "support/error_text.h"
#include "support/small_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

struct Sides {
  std::vector<std::string> train;
  std::vector<std::string> valid;
};

Sides sides(const TextCorpus& corpus) {
  Sides found;
  for_each_part(corpus, false, [&](const DocumentView& part, Split split) {
    (split == kTrain ? found.train : found.valid).emplace_back(part.text);
    return true;
  });
  std::vector<std::string> train_only;
  for_each_part(corpus, true, [&](const DocumentView& part, Split) {
    train_only.emplace_back(part.text);
    return true;
  });
  EXPECT_EQ(train_only, found.train);
  return found;
}

std::filesystem::path lines(const TemporaryFolder& folder, const std::string& name, int first,
                            int count) {
  std::string text;
  for (int i = first; i < first + count; ++i)
    text += "{\"text\": \"document " + std::to_string(i) + "\"}\n";
  write_file_atomic(folder.path() / name, text);
  return folder.path() / name;
}

Sides cut(const std::string& text, double fraction) {
  const TemporaryFolder folder;
  write_file_atomic(folder.path() / "a.txt", text);
  const TextCorpus corpus = divide_text({folder.path() / "a.txt"}, {}, fraction);
  EXPECT_EQ(corpus.division.rule, HoldOutRule::kTail);
  EXPECT_EQ(corpus.division.bytes, std::ssize(text));
  return sides(corpus);
}

TEST(TextCorpus, ByHashIsAPropertyOfTheDocument) {
  const TemporaryFolder folder;
  const TextCorpus corpus = divide_text({lines(folder, "a.jsonl", 0, 5000)}, {}, 0.02);
  EXPECT_EQ(corpus.division.rule, HoldOutRule::kHash);
  const Sides some = sides(corpus);
  EXPECT_GT(some.valid.size(), 60u);  // 100 expected, standard deviation 10
  EXPECT_LT(some.valid.size(), 140u);
  const Sides more = sides(divide_text({lines(folder, "b.jsonl", 0, 9000)}, {}, 0.02));
  ASSERT_GT(more.valid.size(), some.valid.size());
  EXPECT_TRUE(std::equal(some.valid.begin(), some.valid.end(), more.valid.begin()));
}

TEST(TextCorpus, EqualDocumentsLandOnOneSide) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "{\"text\": \"" + std::to_string(i % 40) + "\"}\n";
  write_file_atomic(folder.path() / "a.jsonl", text);
  const Sides found = sides(divide_text({folder.path() / "a.jsonl"}, {}, 0.3));
  for (const std::string& document : found.valid) {
    EXPECT_EQ(std::count(found.train.begin(), found.train.end(), document), 0);
  }
}

TEST(TextCorpus, ASingleDocumentIsCutAtALineEnd) {
  const Sides found = cut(small_text(100'000), 0.1);
  ASSERT_EQ(found.train.size(), 1u);
  ASSERT_EQ(found.valid.size(), 1u);
  EXPECT_TRUE(found.train[0].ends_with('\n'));
  EXPECT_NEAR(static_cast<double>(found.valid[0].size()), 10'000, 500);
  EXPECT_EQ(found.train[0] + found.valid[0], small_text(100'000));
}

TEST(TextCorpus, AwkwardSingleDocumentsAreStillCut) {
  const std::pair<std::string, std::string> cases[] = {{"a", "b"},
                                                       {"ab", "c"},
                                                       {"a\n", "b"},
                                                       {"\n", "\n"},
                                                       {"\n", "abc"},
                                                       {"abcdefg", "h"},
                                                       {"\xc3\xa9", "\xc3\xa9"},
                                                       {"one\n", "two\n"},
                                                       {"one\ntwo\n", "three"}};
  for (const auto& [train, valid] : cases) {
    const Sides found = cut(train + valid, 0.02);
    EXPECT_EQ(found.train, std::vector<std::string>{train});
    EXPECT_EQ(found.valid, std::vector<std::string>{valid});
  }
}

// Seen failing with the next line end taken however far away: one byte was held out.
TEST(TextCorpus, ALineEndThatIsFarAwayIsNotTheCut) {
  const std::string word = "\xc3\xa9";
  std::string letters;
  while (letters.size() < 100'000) letters += word;
  struct Case {
    std::string text;
    std::size_t held_out;
    const char* cut_at;
  };
  const Case cases[] = {
      {letters + "\nx", 2002, "a character"},  // 2 % are 2001 bytes
      {"y\n" + letters, 2002, "a character"},  // and here
      {letters.substr(0, 97'000) + "\n" + std::string(2999, 'z') + "\nx", 3001,
       "a line end"},  // 1000 of 2001 bytes back
      {letters.substr(0, 96'000) + "\n" + std::string(3999, 'z') + "\nx", 2001, "a character"}};
  for (const auto& [text, held_out, cut_at] : cases) {
    const TemporaryFolder folder;
    write_file_atomic(folder.path() / "a.txt", text);
    const TextCorpus corpus = divide_text({folder.path() / "a.txt"}, {}, 0.02);
    EXPECT_EQ(text.size() - static_cast<std::size_t>(corpus.cut_byte), held_out);
    EXPECT_STREQ(corpus.division.cut_at, cut_at);
    EXPECT_NAMES(corpus.division.rule_text(), 2, cut_at);
  }
}

TEST(TextCorpus, ATextTooSmallToCutIsRefused) {
  const TemporaryFolder folder;
  for (const char* text : {"a", "\xc3\xa9", "\n"}) {
    write_file_atomic(folder.path() / "a.txt", text);
    EXPECT_ERROR_AT(error_text([&] { divide_text({folder.path() / "a.txt"}, {}, 0.02); }),
                    "data.train", std::string_view(text).size());
  }
}

TEST(TextCorpus, AFewDocumentsGiveTheirTail) {
  const TemporaryFolder folder;
  write_file_atomic(folder.path() / "a.jsonl",
                    "{\"text\": \"one\\ntwo\\n\"}\n{\"text\": \"three\\nfour\\n\"}\n{\"text\": "
                    "\"five\\nsix\\n\"}\n");
  const TextCorpus corpus = divide_text({folder.path() / "a.jsonl"}, {}, 0.001);
  ASSERT_EQ(corpus.division.rule, HoldOutRule::kTail);
  const Sides found = sides(corpus);
  const std::vector<std::string> train = {"one\ntwo\n", "three\nfour\n", "five\n"};
  EXPECT_EQ(found.train, train);
  EXPECT_EQ(found.valid, std::vector<std::string>{"six\n"});
}

// Seen failing with nobody asking while documents are counted.
TEST(TextCorpus, ASignalStopsTheCounting) {
  const TemporaryFolder folder;
  const std::filesystem::path file = lines(folder, "a.jsonl", 0, 50);
  request_stop(SIGTERM);
  EXPECT_EQ(error_place([&] { divide_text({file}, {}, 0.02); }), "prepare 143");
  clear_stop();
}

TEST(TextCorpus, GivenTextIsTakenWhole) {
  const TemporaryFolder folder;
  const TextCorpus corpus =
      divide_text({lines(folder, "a.jsonl", 0, 50)}, {lines(folder, "b.jsonl", 50, 5)}, 0.5);
  const Sides found = sides(corpus);
  EXPECT_EQ(found.train.size(), 50u);
  EXPECT_EQ(found.valid.size(), 5u);
  EXPECT_EQ(corpus.division.rule_text(), "data.valid");
}

TEST(TextCorpus, WithoutAFractionNothingIsHeldOut) {
  const TemporaryFolder folder;
  const TextCorpus corpus = divide_text({lines(folder, "a.jsonl", 0, 50)}, {}, 0);
  EXPECT_EQ(corpus.division.rule, HoldOutRule::kNone);
  EXPECT_TRUE(sides(corpus).valid.empty());
}

}  // namespace
}  // namespace alibi
