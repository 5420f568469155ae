// Names to files and kinds. Seen failing without the order, with a name that is there taken for a
// pattern, with mixed kinds let through and with a prepared folder beside text taken for text.
#include "data/named_text.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/error_place.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class NamedTextTest : public testing::Test {
 protected:
  NamedTextTest() {
    for (const char* file : {"b/2.txt", "b/1.jsonl", "a.txt", "c/d/e.txt.gz", "c/picture.png",
                             ".hidden.txt", ".git/x.txt", "README", "v.txt", "none/notes.md"})
      put(file, "x");
    put("c/empty.txt", "");
    for (const char* file : {"train_2.bin", "train_1.bin", "valid.bin"}) put(file, "1234");
    put("made/prepared.json", "{}");
    put("made/train-00000.tokens", "");
  }
  void put(const std::string& file, const std::string& text) const {
    make_folders((folder_.path() / file).parent_path());
    write_file_atomic(folder_.path() / file, text);
  }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  Names names(const Names& short_names) const {
    Names all;
    for (const std::string& name : short_names) all.push_back(at(name));
    return all;
  }
  std::vector<fs::path> paths(const Names& short_names) const {
    const Names all = names(short_names);
    return {all.begin(), all.end()};
  }
  NamedText find(const Names& train, const Names& valid = {}) const {
    return find_named_text(names(train), names(valid));
  }
  std::string fault(const Names& train, const Names& valid = {}) const {
    return error_place([&] { find(train, valid); });
  }
  std::string lone_fault(const Names& text) const {
    return error_place([&] { find_text(names(text)); });
  }

 private:
  const TemporaryFolder folder_;
};

TEST_F(NamedTextTest, FoldersAreWalkedInOrder) {
  const TextFiles found = find_text(names({"", "a.txt"}));
  EXPECT_EQ(found.kind, TextKind::kText);
  EXPECT_EQ(found.files,
            paths({"a.txt", "b/1.jsonl", "b/2.txt", "c/d/e.txt.gz", "v.txt", "a.txt"}));
  EXPECT_EQ(found.other_files, 8);  // hidden ones are not counted
}

// Seen failing with them passed over uncounted.
TEST_F(NamedTextTest, LinkedFoldersAreCountedNotWalked) {
  fs::create_directory_symlink(at("b"), at("c/linked"));
  fs::create_symlink(at("nowhere"), at("c/broken.txt"));
  fs::create_symlink(at("a.txt"), at("c/also.txt"));
  const TextFiles found = find_text(names({"c"}));
  EXPECT_EQ(found.files, paths({"c/also.txt", "c/d/e.txt.gz"}));
  EXPECT_EQ(found.other_files, 3);  // a picture, a folder and a broken link
}

TEST_F(NamedTextTest, APatternStandsForWhatItMatches) {
  put("a[1].txt", "x");
  EXPECT_EQ(find_text(names({"v.txt", "b/*"})).files, paths({"v.txt", "b/1.jsonl", "b/2.txt"}));
  EXPECT_EQ(find_text(names({"a[1].txt"})).files, paths({"a[1].txt"}));
  EXPECT_EQ(lone_fault({"z*.txt"}), at("z*.txt") + " 1");
  EXPECT_EQ(find_text_files(names({"?.txt"})).files, paths({"a.txt", "v.txt"}));
}

TEST_F(NamedTextTest, TheKindFollowsFromTheNames) {
  const NamedText text = find({"b"}, {"v.txt"});
  EXPECT_EQ(text.kind(), TextKind::kText);
  EXPECT_EQ(text.train.files, paths({"b/1.jsonl", "b/2.txt"}));
  EXPECT_EQ(text.valid.files, paths({"v.txt"}));
  const NamedText tokens = find({"train_*.bin"}, {"valid.bin"});
  EXPECT_EQ(tokens.kind(), TextKind::kTokens);
  EXPECT_EQ(tokens.train.files, paths({"train_1.bin", "train_2.bin"}));
  EXPECT_EQ(tokens.valid.files, paths({"valid.bin"}));
  const NamedText prepared = find({"made"});
  EXPECT_EQ(prepared.kind(), TextKind::kPrepared);
  EXPECT_EQ(prepared.train.files, paths({"made"}));
  EXPECT_EQ(find_text(names({"valid.bin"})).kind, TextKind::kTokens);
}

TEST_F(NamedTextTest, WhatDoesNotGoTogetherIsRefusedAtItsKey) {
  EXPECT_EQ(fault({}), "data.train 2");
  EXPECT_EQ(fault({"a.txt", "valid.bin"}), "data.train 2");
  EXPECT_EQ(fault({"a.txt"}, {"valid.bin"}), "data.train 2");
  EXPECT_EQ(fault({"a.txt", "made"}), "data.train 2");
  EXPECT_EQ(fault({"made"}, {"v.txt"}), "data.valid 2");
  EXPECT_EQ(lone_fault({"v.txt", "valid.bin"}), at("v.txt") + ", " + at("valid.bin") + " 1");
}

TEST_F(NamedTextTest, NamesThatHoldNoTextAreRefused) {
  for (const char* name : {"missing.txt", "missing.bin", "none", "c/empty.txt", "README",
                           "c/picture.png", "c/empty.txt/x.txt"}) {
    EXPECT_EQ(fault({name}), at(name) + " 1");
    EXPECT_EQ(fault({"a.txt"}, {name}), at(name) + " 1");
  }
  for (const char* name : {"missing.txt", "none", "made", "c/empty.txt", "README"})
    EXPECT_EQ(lone_fault({name}), at(name) + " 1");
  EXPECT_EQ(error_place([&] { find_text_files(names({"valid.bin"})); }), at("valid.bin") + " 1");
}

}  // namespace
}  // namespace alibi
