#include "data/shards.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"
#include "support/token_at.h"

namespace alibi {
namespace {

std::vector<std::filesystem::path> write_set(const std::filesystem::path& folder,
                                             std::int64_t vocabulary) {
  ShardSetWriter writer(folder, "train", {vocabulary}, 100);
  for (int document = 0; document < 10; ++document) {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 40 + document; ++i) ids.push_back(3 + (document * 50 + i) % 200);
    ids.push_back(2);
    writer.append(ids);
    writer.end_document();
  }
  return writer.finish();
}

TEST(TokenShards, AreOneAddressSpaceOverFiles) {
  for (const std::int64_t vocabulary : {259, 70'000}) {
    const TemporaryFolder folder;
    const auto files = write_set(folder.path(), vocabulary);
    ASSERT_EQ(files.size(), 5u);  // 455 tokens
    EXPECT_EQ(files[4].filename(), "train-00004.tokens");
    const TokenShards shards = TokenShards::open(files, vocabulary);
    ASSERT_EQ(shards.size(), 455);
    EXPECT_EQ(shards.documents(), 10);
    for (std::int64_t first = 0; first < 455; first += 7) {
      std::vector<std::int64_t> out(
          static_cast<std::size_t>(std::min<std::int64_t>(455 - first, 230)));
      shards.read(first, out);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], token_at(shards, first + static_cast<std::int64_t>(i)));
    }
    const TokenShards copy = shards;
    EXPECT_EQ(copy.hash(), shards.hash());
    EXPECT_EQ(token_at(copy, 454), 2);
  }
}

TEST(TokenShards, MarksStandBesideIds) {
  for (const std::int64_t vocabulary :
       {259, 40'000, 70'000}) {  // the second: 4 bytes for its marks
    const TemporaryFolder folder;
    ShardSetWriter writer(folder.path(), "train", {vocabulary, true}, 4);
    const std::vector<std::int32_t> ids = {marked(0), marked(258), 5, 2, marked(2), 258, 2};
    writer.append(std::span(ids).first(4));
    writer.end_document();
    writer.append(std::span(ids).subspan(4));
    writer.end_document();
    const auto files = writer.finish();
    if (files.size() != 2) FAIL();
    const TokenShards shards = TokenShards::open(files, vocabulary);
    EXPECT_EQ(shards.target_count(), 4);
    std::vector<std::int64_t> read(7);
    shards.read(0, read);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(read[i], ids[i]);
      EXPECT_EQ(token_at(shards, static_cast<std::int64_t>(i)), ids[i]);
    }
  }
}

TEST(TokenShards, AnotherVocabularyIsRefused) {
  const TemporaryFolder folder;
  const auto files = write_set(folder.path(), 259);
  EXPECT_NAMES(error_text([&] { TokenShards::open(files, 300); }), 259, 300);
}

TEST(TokenShards, AWrongDocumentCountIsRefused) {
  const TemporaryFolder folder;
  ShardSetWriter writer(folder.path(), "train", {259});
  const std::vector<std::int32_t> ids = {5, 6, 2, 7, 2};
  writer.append(ids);
  writer.end_document();
  const auto files = writer.finish();
  EXPECT_NAMES(error_text([&] { TokenShards::open(files, 259); }), 1, 2);
}

TEST(TokenShards, AMissingFileIsNamed) {
  const TemporaryFolder folder;
  auto files = write_set(folder.path(), 259);
  files.push_back(folder.path() / "train-00005.tokens");
  EXPECT_ERROR_AT(error_text([&] { TokenShards::open(files, 259); }), "train-00005.tokens");
}

TEST(TokenShardsDeathTest, ReadingOutsideIsOurFault) {
  const TemporaryFolder folder;
  const TokenShards shards = TokenShards::open(write_set(folder.path(), 259), 259);
  std::vector<std::int64_t> out(3);
  EXPECT_DEATH(shards.read(453, out), "data/shards");
  EXPECT_DEATH(shards.read(-1, out), "data/shards");
  EXPECT_DEATH(token_at(shards, 455), "data/shards");
}

}  // namespace
}  // namespace alibi
