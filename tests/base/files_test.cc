#include "base/files.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

TEST(Files, AtomicWriteReplacesAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.json";
  write_file_atomic(path, "one");
  write_file_atomic(path, "two");
  EXPECT_EQ(read_file(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, ErrorsNamePathAndReason) {
  try {
    write_file_atomic("/nonexistent-folder/x", "text");
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent-folder/x"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos);
  }
  EXPECT_THROW(read_file("/nonexistent"), Error);
  EXPECT_THROW(MappedFile("/nonexistent"), Error);
  EXPECT_THROW(MappedFile("/"), Error);
}

TEST(Files, ReadRefusesMoreThanTheLimit) {
  const TemporaryFolder folder;
  write_file_atomic(folder.path() / "long", std::string(1000, 'x'));
  EXPECT_THROW(read_file(folder.path() / "long", 999), Error);
  EXPECT_EQ(read_file(folder.path() / "long", 1000).size(), 1000u);
}

// A file without an end is left at the limit, not read to it. Seen failing (it never ended) with
// the limit looked at behind the loop only.
TEST(Files, ReadStopsAtTheLimit) {
  try {
    read_file("/dev/zero", 1 << 20);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/dev/zero"), std::string::npos);
  }
}

TEST(Files, LockIsExclusive) {
  const TemporaryFolder folder;
  const FileLock held(folder.path() / "lock", "the folder");
  EXPECT_THROW(FileLock(folder.path() / "lock", "the folder"), Error);
}

TEST(Files, ErrorIsOneLine) {
  const Error error("a\nb", "c\td", "e\rf");
  EXPECT_EQ(std::string(error.what()), "a b: c d (e f)");
}

}  // namespace
}  // namespace alibi
