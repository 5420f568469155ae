#include "data/prepare.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "support/error_place.h"
#include "support/error_text.h"
#include "support/small_tokenizer.h"
#include "support/temporary_folder.h"
#include "support/token_at.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

struct Case {
  TemporaryFolder folder;
  DataConfig data;
  TokenizerConfig tokenizer;

  explicit Case(const std::string& text = small_text(300'000)) {
    put("text/a.txt", text);
    data.train = {name("text")};
    data.valid_fraction = 0.1;
    data.cache_folder = name("cache");
    tokenizer.vocabulary = 500;
    tokenizer.sample_bytes = 100'000;
  }
  std::string name(const std::string& part) const { return (folder.path() / part).string(); }
  void put(const std::string& part, const std::string& text) const {
    make_folders((folder.path() / part).parent_path());
    write_file_atomic(folder.path() / part, text);
  }
  PreparedText prepare(int threads = 2) const { return prepare_text(data, tokenizer, threads); }
  std::vector<std::string> cached() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(name("cache")))
      names.push_back(entry.path().filename());
    return names;
  }
};

std::string text_of(const PreparedText& prepared, const TokenShards& shards) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < shards.size(); ++i) ids.push_back(token_at(shards, i));
  return prepared.tokenizer.decode(ids);
}

// Prompts in capitals, so that what is learned can be told from them.
std::string prompts_and_answers(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    const std::string digits = std::to_string(1000 + 7 * i);
    std::string prompt, answer;
    for (const char c : digits) prompt += static_cast<char>('A' + (c - '0'));
    for (const char c : digits) answer += static_cast<char>('a' + (c - '0'));
    lines += "{\"prompt\": \"" + prompt + "\", \"completion\": \" " + answer + "\"}\n";
  }
  return lines;
}

// Seen failing with prompts learned, and with the cut of the tail forgetting them.
TEST(Prepare, PromptsAreMarked) {
  for (const bool tail : {false, true}) {
    Case test("not named");
    test.tokenizer.kind = TokenizerKind::kBytes;
    test.put("a.jsonl", prompts_and_answers(tail ? 1 : 200));
    test.data.train = {test.name("a.jsonl")};
    test.data.valid_fraction = tail ? 0.8 : 0.3;  // of one document: cut inside its prompt
    const PreparedText prepared = test.prepare();
    for (const TokenShards* shards : {&prepared.train, &prepared.valid}) {
      ASSERT_GT(shards->size(), 0);
      for (std::int64_t i = 0; i < shards->size(); ++i) {
        const std::int32_t id = token_at(*shards, i);
        const auto byte = static_cast<char>(unmarked(id) - 3);
        EXPECT_EQ(is_marked(id), byte >= 'A' && byte <= 'J') << byte << tail;
      }
    }
    EXPECT_EQ(prepared.statistics.train.documents + prepared.statistics.valid.documents,
              tail ? 2 : 200);
    EXPECT_EQ(prepared.train.size() + prepared.valid.size(), tail ? 11 : 2000);
    EXPECT_TRUE(test.prepare().from_cache);
  }
}

TEST(Prepare, TokensAreTheText) {
  for (const TokenizerKind kind : {TokenizerKind::kBpe, TokenizerKind::kBytes}) {
    Case test;
    test.tokenizer.kind = kind;
    const PreparedText prepared = test.prepare();
    EXPECT_FALSE(prepared.from_cache);
    EXPECT_EQ(text_of(prepared, prepared.train) + text_of(prepared, prepared.valid),
              small_text(300'000));
    EXPECT_EQ(prepared.train.documents(), 1);
    EXPECT_EQ(token_at(prepared.train, prepared.train.size() - 1), Tokenizer::kEnd);
    EXPECT_EQ(prepared.train.vocabulary(), prepared.tokenizer.vocabulary());
    const PreparedStatistics& statistics = prepared.statistics;
    EXPECT_EQ(statistics.train.bytes + statistics.valid.bytes, 300'000);
    EXPECT_EQ(statistics.train.tokens, prepared.train.size());
    EXPECT_EQ(statistics.train.changed_documents, 0);
    EXPECT_EQ(statistics.train.unknown, 0);
    EXPECT_EQ(statistics.files, 1);
    EXPECT_GE(statistics.train.bytes_per_token(), 1);
    EXPECT_NAMES(statistics.hold_out, 10);
  }
}

TEST(Prepare, TheSecondCallFindsTheFirst) {
  const Case test;
  const PreparedText first = test.prepare();
  const PreparedText second = test.prepare(1);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.folder, first.folder);
  EXPECT_EQ(second.data_hash, first.data_hash);
  EXPECT_EQ(second.tokenizer.model(), first.tokenizer.model());
  EXPECT_EQ(second.statistics.train.bytes, first.statistics.train.bytes);
  EXPECT_EQ(test.cached().size(), 1u);
}

// The text is there to make it again. Seen failing (an error for ever) without that.
TEST(Prepare, ADamagedCacheIsMadeAgain) {
  const Case test;
  const PreparedText first = test.prepare();
  for (const char* file : {"train-00000.tokens", "tokenizer.model", "prepared.json"}) {
    const fs::path path = fs::path(first.folder) / file;
    std::string bytes = read_file(path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file_atomic(path, bytes);
    const PreparedText again = test.prepare();
    EXPECT_FALSE(again.from_cache) << file;
    EXPECT_EQ(again.data_hash, first.data_hash) << file;
    EXPECT_TRUE(test.prepare().from_cache) << file;
  }
  fs::remove(fs::path(first.folder) / "prepared.json");
  EXPECT_EQ(test.prepare().data_hash, first.data_hash);
}

TEST(Prepare, ChangesMakeANewFolder) {
  Case test;
  const PreparedText first = test.prepare();
  test.put("text/a.txt", small_text(300'000) + "x");
  EXPECT_NE(test.prepare().data_hash, first.data_hash);
  test.data.valid_fraction = 0.2;
  EXPECT_FALSE(test.prepare().from_cache);
  test.tokenizer.vocabulary = 501;
  EXPECT_FALSE(test.prepare().from_cache);
  test.tokenizer.kind = TokenizerKind::kBytes;
  EXPECT_FALSE(test.prepare().from_cache);
  test.put("valid.txt", "kalo");
  test.data.valid = {test.name("valid.txt")};
  EXPECT_EQ(test.prepare().statistics.valid.bytes, 4);
  EXPECT_EQ(test.cached().size(), 6u);
}

TEST(Prepare, TheSameForAnyNumberOfThreadsAndAnyPlace) {
  const Case one(small_text(2'600'000));
  const Case other(small_text(2'600'000));
  const PreparedText a = one.prepare(1);
  const PreparedText b = other.prepare(4);
  EXPECT_EQ(a.data_hash, b.data_hash);
  EXPECT_EQ(a.folder.filename(), b.folder.filename());
}

TEST(Prepare, JsonLinesAndFoldersMix) {
  Case test;
  test.put("text/b.jsonl",
           "{\"text\": \"kalo\\r\\nmi\"}\n{\"text\": \"\"}\n{\"text\": \"\xf0\x9f\x98\x80\"}\n");
  test.put("text/c.png", "x");
  test.put("valid.txt", std::string("an\0es \xe2\x96\x81", 9));
  test.data.valid = {test.name("valid.txt")};
  const PreparedText prepared = test.prepare();
  EXPECT_EQ(prepared.statistics.train.documents, 3);
  EXPECT_EQ(prepared.statistics.empty_documents, 1);
  EXPECT_EQ(prepared.statistics.other_files, 1);
  EXPECT_GE(prepared.statistics.train.byte_fallback, 4);
  EXPECT_EQ(prepared.statistics.valid.changed_documents, 1);
  EXPECT_EQ(text_of(prepared, prepared.train), small_text(300'000) + "kalo\r\nmi\xf0\x9f\x98\x80");
}

TEST(Prepare, AGivenTokenizerIsUsed) {
  Case test;
  test.put("my.model", small_model());
  test.tokenizer.file = test.name("my.model");
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "tokenizer.vocabulary", 500, 600);
  test.tokenizer.vocabulary = 600;
  EXPECT_EQ(test.prepare().tokenizer.hash(), small_tokenizer().hash());
}

TEST(Prepare, APreparedFolderIsUsedAsItIs) {
  Case test;
  const PreparedText made = prepare_text_into(test.name("out/mine/"), test.data, test.tokenizer, 2);
  EXPECT_EQ(
      error_place([&] { prepare_text_into(test.name("out/mine"), test.data, test.tokenizer, 2); }),
      test.name("out/mine") + " 1");
  EXPECT_EQ(std::distance(fs::directory_iterator(test.name("out")), {}), 1);
  EXPECT_FALSE(fs::exists(test.name("cache")));
  test.data.train = {test.name("out/mine")};
  EXPECT_EQ(test.prepare().data_hash, made.data_hash);
  Case wrong;
  wrong.data = test.data;
  wrong.tokenizer = test.tokenizer;
  wrong.tokenizer.vocabulary = 400;
  EXPECT_EQ(error_place([&] { wrong.prepare(); }), "tokenizer.vocabulary 2");
  wrong.tokenizer.kind = TokenizerKind::kBytes;
  EXPECT_EQ(error_place([&] { wrong.prepare(); }), "tokenizer.kind 2");
  wrong.tokenizer = test.tokenizer;
  wrong.put("x.model", small_model());
  wrong.tokenizer.file = wrong.name("x.model");
  EXPECT_EQ(error_place([&] { wrong.prepare(); }), "tokenizer.file 2");
  wrong.data.valid = {wrong.name("text")};
  EXPECT_EQ(error_place([&] { wrong.prepare(); }), "data.valid 2");
  wrong.data.valid.clear();
  wrong.data.train.push_back(wrong.name("text"));
  EXPECT_EQ(error_place([&] { wrong.prepare(); }), "data.train 2");
}

TEST(Prepare, ProgressReachesTheEnd) {
  const Case test(small_text(2'000'000));
  std::int64_t last = 0;
  std::vector<std::string> notes;
  PrepareProgress progress;
  progress.note = [&](const std::string& line) { notes.push_back(line); };
  progress.bytes = [&](std::int64_t done, std::int64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 2'000'000);
    last = done;
  };
  prepare_text(test.data, test.tokenizer, 2, progress);
  EXPECT_EQ(last, 2'000'000);
  EXPECT_EQ(notes.size(), 3u);
}

}  // namespace
}  // namespace alibi
