// One process makes a folder, whole or not at all. Seen failing with a folder filled under its own
// name, what an earlier process left aside kept, the lock's file or the folders above left behind,
// and no lock.
#include "data/make_prepared.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/error_place.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

// Two documents of two bytes, one on each side.
void fill(const fs::path& folder) {
  const Tokenizer tokenizer = Tokenizer::bytes();
  const auto side = [&](const char* name) {
    ShardSetWriter writer(folder, name, {tokenizer.vocabulary()});
    writer.append(std::vector<std::int32_t>{'a' + 3, 'b' + 3, tokenizer.end()});
    writer.end_document();
    return TokenShards::open(writer.finish(), tokenizer.vocabulary());
  };
  PreparedStatistics statistics;
  statistics.train = {.documents = 1, .bytes = 2, .tokens = 3};
  statistics.valid = statistics.train;
  const TokenShards train = side("train");
  write_prepared(folder, tokenizer, train, side("valid"), statistics);
}

class MakePrepared : public testing::Test {
 protected:
  fs::path folder() const { return temporary_.path() / "above/cache/text"; }
  PreparedText open(int& fills) const {
    const auto count = [&](const fs::path& aside) {
      EXPECT_NE(aside, folder());
      EXPECT_TRUE(fs::is_empty(aside));
      EXPECT_THROW(open_prepared(folder()), Error);
      ++fills;
      fill(aside);
    };
    PrepareProgress progress;
    progress.note = [this](const std::string&) { ++notes_; };
    return open_or_make(folder(), count, progress);
  }
  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(folder().parent_path()), {});
  }
  const TemporaryFolder temporary_;
  mutable int notes_ = 0;
};

TEST_F(MakePrepared, FillsOnceAndOpensThen) {
  int fills = 0;
  EXPECT_FALSE(open(fills).from_cache);
  EXPECT_TRUE(open(fills).from_cache);
  EXPECT_EQ(fills, 1);
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(notes_, 0);
}

TEST_F(MakePrepared, WhatIsDamagedOrLeftBehindIsMadeAgain) {
  int fills = 0;
  const std::string hash = open(fills).data_hash;
  write_file_atomic(folder() / "prepared.json", "{}");
  make_folders(name_beside(folder(), "tmp") / "left");
  EXPECT_EQ(open(fills).data_hash, hash);
  EXPECT_EQ(fills, 2);
  EXPECT_EQ(notes_, 1);
  EXPECT_EQ(entries(), 1);
  EXPECT_FALSE(fs::exists(folder() / "left"));
}

// Seen failing with the old folder removed first, and with one removed that make_prepared found.
TEST_F(MakePrepared, WhatCannotBeMadeAgainStaysAsItWas) {
  int fills = 0;
  open(fills);
  write_file_atomic(folder() / "prepared.json", "{}");
  const auto fail = [](const fs::path&) { throw Error("disk", "full"); };
  EXPECT_EQ(error_place([&] { open_or_make(folder(), fail, {}); }), "disk 1");
  EXPECT_EQ(read_file(folder() / "prepared.json"), "{}");
  EXPECT_TRUE(fs::exists(folder() / "train-00000.tokens"));
  EXPECT_EQ(entries(), 1);
  EXPECT_THROW(make_prepared(folder(), fill), Error);  // a folder that somebody else made there
  EXPECT_TRUE(fs::exists(folder() / "train-00000.tokens"));
}

TEST_F(MakePrepared, AFailureLeavesNothing) {
  const auto fail = [](const fs::path& aside) {
    write_file_atomic(aside / "half", "x");
    throw Error("disk", "full");
  };
  EXPECT_EQ(error_place([&] { open_or_make(folder(), fail, {}); }), "disk 1");
  EXPECT_EQ(error_place([&] { make_prepared(folder(), fail); }), "disk 1");
  EXPECT_TRUE(fs::is_empty(temporary_.path()));
}

TEST_F(MakePrepared, AChosenFolderThatAnotherProcessMakesIsRefused) {
  const auto make_inside = [&](const fs::path& aside) {
    EXPECT_THROW(make_prepared(folder(), fill), LockHeld);
    fill(aside);
  };
  EXPECT_EQ(make_prepared(folder(), make_inside).train.size(), 3);
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace alibi
