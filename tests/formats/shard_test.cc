// Shards of tokens, and what lies about them. Seen failing with the count of tokens not compared
// with the file's size and with ids not compared with the vocabulary.
#include "formats/shard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

std::vector<std::int32_t> some_ids(std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>(i * 7919 % vocabulary));
  return ids;
}

std::filesystem::path write_shard(const TemporaryFolder& folder, std::int64_t count,
                                  std::int64_t vocabulary) {
  const auto path = folder.path() / "a.tokens";
  ShardWriter writer(path, vocabulary);
  const auto ids = some_ids(count, vocabulary);
  writer.append(std::span(ids).first(ids.size() / 2));
  writer.append(std::span(ids).subspan(ids.size() / 2));
  if (count > 0) writer.count_document();
  writer.finish();
  return path;
}

// Without an fsync: thousands of broken files would take minutes on a slow disk.
void put(const std::filesystem::path& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.close();
}

// Changes a file's header and makes its checksum right again, so that only the lie itself is wrong.
void forge(const std::filesystem::path& path, std::size_t offset, std::uint64_t value,
           std::size_t width) {
  std::string file = read_file(path);
  std::memcpy(file.data() + offset, &value, width);
  const std::string digest = sha256_hex(std::string_view(file).substr(0, 96));
  for (std::size_t i = 0; i < 32; ++i) {
    file[96 + i] = static_cast<char>(std::stoi(digest.substr(2 * i, 2), nullptr, 16));
  }
  put(path, file);
}

TEST(Shard, GivesBackWhatWasWrittenInEitherWidth) {
  for (const std::int64_t vocabulary : {1, 259, 65536, 65537, 1 << 30}) {
    const TemporaryFolder folder;
    const auto path = write_shard(folder, 1001, vocabulary);
    const auto ids = some_ids(1001, vocabulary);
    const ShardFile file(path);
    EXPECT_EQ(file.header().id_bytes, vocabulary <= 65536 ? 2 : 4);
    EXPECT_EQ(file.header().vocabulary, vocabulary);
    EXPECT_EQ(file.header().documents, 1);
    ASSERT_EQ(file.size(), 1001);
    std::vector<std::int64_t> read(1001);
    file.read(0, read);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(file[static_cast<std::int64_t>(i)], ids[i]);
      ASSERT_EQ(read[i], ids[i]);
    }
  }
}

TEST(Shard, LayoutIsTheDrawnOne) {
  const TemporaryFolder folder;
  const std::string file = read_file(write_shard(folder, 3, 300));
  ASSERT_EQ(file.size(), 128u + 6u);
  EXPECT_EQ(file.substr(0, 8), "ALIBITOK");
  EXPECT_EQ(file.substr(8, 8), std::string("\1\0\0\0\2\0\0\0", 8));
  EXPECT_EQ(file.substr(16, 8), std::string("\x2c\1\0\0\0\0\0\0", 8));
  EXPECT_EQ(file.substr(24, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(file.substr(32, 8), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(file.substr(40, 24), std::string(24, '\0'));
  EXPECT_EQ(file.substr(128), std::string("\0\0\x77\0\xee\0", 6));  // 0, 7919 % 300, 15838 % 300
}

TEST(Shard, AnEmptyShardIsSound) {
  const TemporaryFolder folder;
  EXPECT_EQ(ShardFile(write_shard(folder, 0, 259)).size(), 0);
}

TEST(Shard, EveryTruncationAndExtensionIsRefused) {
  const TemporaryFolder folder;
  const auto path = write_shard(folder, 50, 259);
  const std::string whole = read_file(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(path, whole.substr(0, size));
    EXPECT_ERROR_AT(error_text([&] { ShardFile file(path); }), path.string()) << size;
  }
  put(path, whole + "x");
  EXPECT_THROW(ShardFile{path}, Error);
  put(path, whole + std::string(2, '\0'));
  EXPECT_THROW(ShardFile{path}, Error);
}

TEST(Shard, EveryFlippedBitIsRefused) {
  const TemporaryFolder folder;
  const auto path = write_shard(folder, 20, 65537);
  const std::string whole = read_file(path);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string broken = whole;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    put(path, broken);
    EXPECT_THROW(ShardFile{path}, Error) << "bit " << bit;
  }
}

TEST(Shard, EveryLieWithARightChecksumIsRefusedByName) {
  struct Lie {
    std::size_t offset;
    std::uint64_t value;
    std::size_t width;
    std::vector<std::uint64_t> found;  // the values that the message names
  };
  const Lie lies[] = {
      {0, 0x4b4f5449424c4100, 8, {}},
      {8, 2, 4, {2, 1}},
      {12, 4, 4, {4, 2}},
      {12, 0, 4, {0, 2}},
      {16, 0, 8, {0, 1}},
      {16, ~0ull, 8, {~0ull}},
      {16, 1ull << 20, 8, {2, 4}},
      {16, 100, 8, {1, 149, 100}},
      {24, 51, 8, {51}},
      {24, (1ull << 63) + 50, 8, {(1ull << 63) + 50, 2}},
      {32, 51, 8, {51, 50}},
      {40, 1, 8, {40, 63}},
      {64, 1, 8, {}},
  };
  for (const Lie& lie : lies) {
    const TemporaryFolder folder;
    const auto path = write_shard(folder, 50, 259);
    forge(path, lie.offset, lie.value, lie.width);
    const std::string text = error_text([&] { ShardFile file(path); });
    EXPECT_ERROR_AT(text, path.string());
    for (const std::uint64_t value : lie.found) EXPECT_NAMES(text, value);
  }
}

TEST(Shard, AnIdBeyondTheVocabularyIsRefusedWithItsPosition) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.tokens";
  {
    ShardWriter writer(path, 259);
    const std::vector<std::int32_t> ids = {3, 4, 258, 5};
    writer.append(ids);
    writer.finish();
  }
  forge(path, 16, 258, 8);
  EXPECT_ERROR_AT(error_text([&] { ShardFile file(path); }), path.string(), 2, 258);
}

TEST(Shard, AnUnfinishedShardLeavesNothing) {
  const TemporaryFolder folder;
  {
    ShardWriter writer(folder.path() / "a.tokens", 259);
    writer.append(some_ids(100, 259));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace alibi
