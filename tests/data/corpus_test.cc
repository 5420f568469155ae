// Text and token ids as one stream. Seen failing with a division that evaluation sees, and with the
// sides exchanged.
#include "data/corpus.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/small_tokenizer.h"
#include "support/temporary_folder.h"
#include "support/token_files.h"

namespace alibi {
namespace {

using Ids = std::vector<std::int32_t>;

struct Sides {
  Ids train, valid;
  int documents = 0;
  ParallelEncoder::Sink sink() {
    return [this](const EncodedPart& part) {
      Ids& side = part.stream == kTrain ? train : valid;
      side.insert(side.end(), part.ids.begin(), part.ids.end());
      documents += part.ends_document;
      return true;
    };
  }
};

class CorpusTest : public testing::Test {
 protected:
  CorpusTest() {
    text_ = put("a.txt", small_text(40'000));
    std::vector<std::int64_t> ids;
    for (const std::int32_t id : tokenizer_.encode(small_text(40'000))) ids.push_back(id);
    ids.push_back(tokenizer_.end());
    tokens_ = put("a.bin", raw<std::uint16_t>(ids));
    whole_.assign(ids.begin(), ids.end());
  }
  std::string put(const std::string& file, const std::string& text) const {
    write_file_atomic(folder_.path() / file, text);
    return (folder_.path() / file).string();
  }
  Sides divided(const NamedText& text, double valid_fraction, int threads = 1) const {
    Sides sides;
    encode(divide(text, valid_fraction, tokenizer_), tokenizer_, threads, sides.sink());
    return sides;
  }
  Sides undivided(const std::vector<std::string>& names) const {
    Sides sides;
    encode(find_text(names), tokenizer_, 2, sides.sink());
    return sides;
  }
  const Tokenizer tokenizer_ = small_tokenizer();
  std::string text_, tokens_;
  Ids whole_;

 private:
  const TemporaryFolder folder_;
};

TEST_F(CorpusTest, TextAndItsTokensAreTheSame) {
  for (const std::string& name : {text_, tokens_}) {
    EXPECT_EQ(undivided({name}).valid, whole_) << name;
    EXPECT_TRUE(undivided({name}).train.empty()) << name;
    EXPECT_EQ(divided(find_named_text({name}, {}), 0).train, whole_) << name;
    EXPECT_EQ(undivided({name, name}).documents, 2) << name;
  }
}

TEST_F(CorpusTest, EachSideHasItsDocuments) {
  for (const std::string& name : {text_, tokens_}) {
    const Sides given = divided(find_named_text({name, name}, {name}), 0.1);
    EXPECT_EQ(given.valid, whole_) << name;
    EXPECT_EQ(given.train.size(), 2 * whole_.size()) << name;
    EXPECT_EQ(given.documents, 3) << name;
    const Sides tail = divided(find_named_text({name}, {}), 0.1, 3);
    EXPECT_EQ(tail.documents, 2) << name;
    EXPECT_NEAR(static_cast<double>(tail.valid.size()), 0.1 * static_cast<double>(whole_.size()),
                0.01 * static_cast<double>(whole_.size()))
        << name;
  }
}

TEST_F(CorpusTest, TheDivisionSaysWhatWasFound) {
  const std::string lines = put("a.jsonl",
                                "{\"text\": \"an\"}\n{\"text\": \"\"}\n"
                                "{\"prompt\": \"mi\", \"completion\": \" kalo\"}\n");
  const Corpus text = divide(find_named_text({lines}, {text_}), 0.1, std::nullopt);
  EXPECT_EQ(division_of(text).rule, HoldOutRule::kGiven);
  EXPECT_EQ(division_of(text).bytes, 40'009);
  EXPECT_EQ(division_of(text).empty_documents, 1);
  EXPECT_TRUE(division_of(text).prompts);
  const std::string ends = put("b.bin", raw<std::uint16_t>({5, 2, 2, 6}));
  const Corpus tokens = divide(find_named_text({ends}, {}), 0, tokenizer_);
  EXPECT_EQ(division_of(tokens).rule, HoldOutRule::kNone);
  EXPECT_EQ(division_of(tokens).bytes, 0);
  EXPECT_EQ(division_of(tokens).empty_documents, 1);
  EXPECT_FALSE(division_of(tokens).prompts);
}

TEST_F(CorpusTest, TheSinkMayStop) {
  for (const std::string& name : {text_, tokens_}) {
    int taken = 0;
    encode(find_text({name, name, name}), tokenizer_, 1,
           [&](const EncodedPart&) { return ++taken < 2; });
    EXPECT_EQ(taken, 2) << name;
  }
}

}  // namespace
}  // namespace alibi
