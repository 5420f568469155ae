// Broken input, full disks, killed processes: one clear line, and nothing half made under a real
// name. Seen failing with text prepared under its real name at once, with the aside folder left
// after an error or taken over, with a waiting process going on without the lock, and with the
// shards' SHA-256 not compared.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "data/prepare.h"
#include "support/error_place.h"
#include "support/error_text.h"
#include "support/small_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

struct Faulty {
  TemporaryFolder folder;
  DataConfig data;
  TokenizerConfig tokenizer;

  explicit Faulty(const std::string& text = small_text(3'000'000)) {
    write_file_atomic(folder.path() / "a.txt", text);
    data.train = {name("a.txt")};
    data.cache_folder = name("cache");
    tokenizer.kind = TokenizerKind::kBytes;
  }
  std::string name(const std::string& part) const { return (folder.path() / part).string(); }
  PreparedText prepare(const PrepareProgress& progress = {}) const {
    return prepare_text(data, tokenizer, 2, progress);
  }
  // Entries of the cache folder that would be taken for prepared text.
  int complete() const {
    int count = 0;
    std::error_code none;  // it may not be there
    for (const auto& entry : fs::directory_iterator(name("cache"), none)) {
      count += entry.is_directory() && entry.path().extension().empty();
    }
    return count;
  }
};

// Without an fsync, for many broken files.
void put(const fs::path& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.close();
}

// Runs `call` in a child; returns its wait status. The child exits with 7 when it catches an Error
// whose text holds `value`.
template <class Call>
int in_child(const std::string& value, const Call& call) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      call();
    } catch (const Error& error) {
      _exit(std::string(error.what()).find(value) != std::string::npos ? 7 : 8);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(PrepareFaults, TextThatCannotTrain) {
  Faulty test;
  test.data.train.clear();
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "data.train");
  test.data.train = {test.name("missing.txt")};
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "missing.txt");
  test.data.train = {test.name("b.txt")};
  write_file_atomic(test.name("b.txt"), "fine \xff");
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "b.txt", 5);
  write_file_atomic(test.name("b.txt"), "a");
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "data.train", 1);
  write_file_atomic(test.name("b.jsonl"), "{\"text\": \"\"}\n");
  test.data.train = {test.name("b.jsonl")};
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "data.train");
  test.data.valid = {test.name("b.jsonl")};
  test.data.train = {test.name("a.txt")};
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "data.valid");
  test.tokenizer = {};
  test.data.valid = {};
  test.tokenizer.vocabulary = 1'000'000;
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "tokenizer", 1000000);
  test.tokenizer.file = test.name("a.txt");
  EXPECT_ERROR_AT(error_text([&] { test.prepare(); }), "a.txt");
  EXPECT_FALSE(fs::exists(test.name("cache")));
}

TEST(PrepareFaults, AOneByteTextWithItsOwnValidationWorks) {
  Faulty test("a");
  write_file_atomic(test.name("v.txt"), "b");
  test.data.valid = {test.name("v.txt")};
  EXPECT_EQ(test.prepare().train.size(), 2);
}

TEST(PrepareFaults, ACacheFolderThatCannotBeWritten) {
  Faulty test;
  test.data.cache_folder = test.name("a.txt/cache");
  EXPECT_NAMES(error_text([&] { test.prepare(); }), "a.txt/cache");
  test.data.cache_folder = "/proc/alibi";
  EXPECT_NAMES(error_text([&] { test.prepare(); }), "/proc/alibi");
}

TEST(PrepareFaults, AFullDiskLeavesNothing) {
  const Faulty test;
  for (const rlim_t limit : {0, 100, 200'000, 1'000'000}) {
    const int status = in_child(std::strerror(EFBIG), [&] {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit bound{limit, limit};
      setrlimit(RLIMIT_FSIZE, &bound);
      test.prepare();
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7) << limit;
    EXPECT_EQ(test.complete(), 0);
    EXPECT_FALSE(fs::exists(test.name("cache")));
  }
  EXPECT_FALSE(test.prepare().from_cache);
}

TEST(PrepareFaults, AKilledProcessLeavesNothingThatCounts) {
  Faulty test(small_text(30'000'000));
  const int status = in_child("", [&] {
    PrepareProgress progress;
    progress.bytes = [](std::int64_t done, std::int64_t total) {
      if (done > total / 2) kill(getpid(), SIGKILL);
    };
    test.prepare(progress);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(test.complete(), 0);
  for (const auto& entry : fs::directory_iterator(test.name("cache")))
    if (entry.path().extension() == ".alibi-tmp") put(entry.path() / "left", "x");
  const PreparedText again = test.prepare();
  EXPECT_FALSE(again.from_cache);
  EXPECT_FALSE(fs::exists(again.folder / "left"));
  EXPECT_EQ(test.complete(), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(test.name("cache")), {}), 1);
}

TEST(PrepareFaults, ASignalStopsCleanly) {
  const Faulty test;
  PrepareProgress progress;
  progress.bytes = [](std::int64_t, std::int64_t) { request_stop(SIGTERM); };
  EXPECT_EQ(error_place([&] { test.prepare(progress); }), "prepare 143");
  clear_stop();
  EXPECT_FALSE(fs::exists(test.name("cache")));
}

// The cache's name is of the text that was read first. Seen failing with the other text kept under
// it for good, and under the name that the caller chose.
TEST(PrepareFaults, TextThatChangesMeanwhileIsNotKept) {
  const Faulty test;
  const std::string text = read_file(test.name("a.txt"));
  PrepareProgress progress;
  progress.bytes = [&](std::int64_t, std::int64_t) {
    put(test.name("a.txt"), text.substr(0, text.size() - 1));
  };
  EXPECT_NAMES(error_text([&] { test.prepare(progress); }), test.data.cache_folder);
  EXPECT_EQ(test.complete(), 0);
  put(test.name("a.txt"), text);
  const auto into = [&] {
    prepare_text_into(test.name("mine"), test.data, test.tokenizer, 2, progress);
  };
  EXPECT_NAMES(error_text(into), test.name("mine"));
  EXPECT_FALSE(fs::exists(test.name("mine")));
  put(test.name("a.txt"), text);
  EXPECT_FALSE(test.prepare().from_cache);
}

TEST(PrepareFaults, AFileOfBothSplitsIsNotedHoweverItIsNamed) {
  Faulty test(small_text(10'000));
  test.data.valid = {test.name("./a.txt")};
  std::string notes;
  PrepareProgress progress;
  progress.note = [&](const std::string& line) { notes += line + "\n"; };
  test.prepare(progress);
  EXPECT_NAMES(notes, "data.train", "data.valid", test.data.valid.front());
}

// Seen failing with nothing noted.
TEST(PrepareFaults, FilesThatAreNamedTwiceAreNotedOnceWithTheirNumber) {
  Faulty test(small_text(10'000));
  put(test.name("b.txt"), "more");
  put(test.name("c.txt"), "yet more");
  test.data.train = {test.name("b.txt"), test.name("c.txt"), test.name("*.txt"),
                     test.name("a.txt")};
  std::vector<std::string> notes;
  PrepareProgress progress;
  progress.note = [&](const std::string& line) {
    if (line.starts_with("note: ")) notes.push_back(line);
  };
  test.prepare(progress);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NAMES(notes[0], test.name("b.txt"), 2, "data.train");
}

// Seen failing with the link followed: all was tokenised first.
TEST(PrepareFaults, ABrokenLinkIsNoFreeName) {
  Faulty test(small_text(10'000));
  fs::create_symlink(test.name("nowhere"), test.name("mine"));
  int notes = 0;
  PrepareProgress progress;
  progress.note = [&](const std::string&) { ++notes; };
  EXPECT_EQ(error_place([&] {
              prepare_text_into(test.name("mine"), test.data, test.tokenizer, 2, progress);
            }),
            test.name("mine") + " 1");
  EXPECT_EQ(notes, 0);
}

TEST(PrepareFaults, TwoProcessesMakeItOnce) {
  const Faulty test(small_text(8'000'000));
  const pid_t child = fork();
  if (child == 0) {
    try {
      test.prepare();
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  const PreparedText mine = test.prepare();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(test.complete(), 1);
  EXPECT_TRUE(test.prepare().from_cache);
}

TEST(PrepareFaults, DamagedPreparedTextIsNamed) {
  const Faulty test(small_text(10'000));
  const fs::path folder = test.prepare().folder;
  const fs::path json = folder / "prepared.json";
  const std::string sound = read_file(json);
  for (std::size_t size = 0; size + 2 < sound.size(); size += 9) {
    put(json, sound.substr(0, size));
    EXPECT_NAMES(error_text([&] { open_prepared(folder); }), "prepared.json");
  }
  const std::pair<std::string, std::string> changes[] = {
      {"\"format_version\": 1", "\"format_version\": 2"},
      {"\"bytes\"", "\"words\""},
      {"train-00000", "../../x"},
      {"\"tokens\": ", "\"tokens\": -"},
      {"\"sha256\": \"", "\"sha256\": \"0"},
      {"\"valid\"", "\"other\""},
      {"\"hold_out\"", "\"x\""},
      {"\"unknown\": ", "\"unknown\": 9223372036854775"},
      {"\"bytes\": ", "\"bytes\": 9999999999999"},
      {"\"documents\": 1", "\"documents\": 1.5"}};
  for (const auto& [from, to] : changes) {
    std::string changed = sound;
    changed.replace(changed.find(from), from.size(), to);
    put(json, changed);
    EXPECT_NAMES(error_text([&] { open_prepared(folder); }), "prepared.json");
  }
  put(json, std::string(3'000'000, '['));
  EXPECT_NAMES(error_text([&] { open_prepared(folder); }), "prepared.json");
  put(json, sound);
  EXPECT_NO_THROW(open_prepared(folder));
  const std::string shard = read_file(folder / "train-00000.tokens");
  put(folder / "train-00000.tokens", shard.substr(0, shard.size() - 2));
  EXPECT_ERROR_AT(error_text([&] { open_prepared(folder); }), "train-00000.tokens");
  fs::copy_file(folder / "valid-00000.tokens", folder / "train-00000.tokens",
                fs::copy_options::overwrite_existing);
  EXPECT_ERROR_AT(error_text([&] { open_prepared(folder); }),
                  "prepared.json: /train/files/0/sha256");
  fs::remove(folder / "train-00000.tokens");
  EXPECT_ERROR_AT(error_text([&] { open_prepared(folder); }), "train-00000.tokens");
}

}  // namespace
}  // namespace alibi
