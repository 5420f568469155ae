// JSON lines from a pipe: kept whole, refused by line, gone afterwards.
#include "data/piped_text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/stop.h"
#include "support/error_place.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

// A pipe that a thread fills with `text`.
class Filled {
 public:
  explicit Filled(std::string text) {
    if (pipe2(ends_, O_CLOEXEC) != 0) abort();
    ::signal(SIGPIPE, SIG_IGN);  // a reader may leave before the end
    writer_ = std::jthread([this, text = std::move(text)] {
      for (std::size_t at = 0; at < text.size();) {
        const ssize_t put = ::write(ends_[1], text.data() + at, text.size() - at);
        if (put < 0) break;  // the reader left
        at += static_cast<std::size_t>(put);
      }
      ::close(ends_[1]);
    });
  }
  ~Filled() { ::close(ends_[0]); }
  int descriptor() const { return ends_[0]; }

 private:
  int ends_[2] = {};
  std::jthread writer_;
};

// A pipe into which nothing comes for `idle`, then `text`.
class Idle {
 public:
  Idle(std::chrono::milliseconds idle, std::string text) {
    if (pipe2(ends_, O_CLOEXEC) != 0) abort();
    writer_ = std::jthread([this, idle, text = std::move(text)](const std::stop_token& stop) {
      const auto end = std::chrono::steady_clock::now() + idle;
      while (!stop.stop_requested() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_EQ(::write(ends_[1], text.data(), text.size()), std::ssize(text));
      ::close(ends_[1]);
    });
  }
  ~Idle() {
    writer_ = {};
    ::close(ends_[0]);
  }
  int descriptor() const { return ends_[0]; }

 private:
  int ends_[2] = {};
  std::jthread writer_;
};

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += R"({"text": "line )" + cat(i, "\"}\n");
  return text;
}

TEST(PipedText, KeepsWhatCameWhileItLives) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "kept.jsonl";
  const std::string text = lines(100'000);  // several parts
  std::int64_t told = 0;
  write_file_atomic(file, "what a killed process left, longer than the first part that comes");
  {
    const Filled pipe(text);
    const PipedText piped(pipe.descriptor(), file, [&](std::int64_t bytes) { told = bytes; });
    EXPECT_EQ(piped.file(), file);
    EXPECT_EQ(read_file(file), text);
    EXPECT_EQ(told, std::ssize(text));
    const Filled other(text);
    EXPECT_THROW(PipedText(other.descriptor(), file), LockHeld);
    EXPECT_EQ(read_file(file), text);
  }
  EXPECT_FALSE(fs::exists(file));
}

// Seen failing with a read that waits for the pipe: its end came first.
TEST(PipedText, ASignalStopsTheWaitForAnIdlePipe) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "kept.jsonl";
  const Idle pipe(std::chrono::seconds(5), "");
  {
    const std::jthread stopper([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      request_stop(SIGTERM);
    });
    EXPECT_EQ(error_place([&] { PipedText(pipe.descriptor(), file); }), "prepare 143");
  }
  clear_stop();
  EXPECT_FALSE(fs::exists(file));
}

// Seen failing without the wait: "Resource temporarily unavailable".
TEST(PipedText, APipeThatDoesNotBlockIsWaitedFor) {
  const TemporaryFolder folder;
  const Idle pipe(std::chrono::milliseconds(300), lines(2));
  ASSERT_EQ(::fcntl(pipe.descriptor(), F_SETFL, O_NONBLOCK), 0);
  const PipedText piped(pipe.descriptor(), folder.path() / "kept.jsonl");
  EXPECT_EQ(read_file(piped.file()), lines(2));
}

TEST(PipedText, NamesTheLineThatIsNoDocument) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "kept.jsonl";
  const std::pair<std::string, std::string> wrong[] = {
      {lines(70'000) + "{\"text\": 3}\n" + lines(10), "standard input:70001"},
      {"\n" + lines(1) + "{\"error\": \"no such column\"}", "standard input:3"},
      {lines(2) + "{\"text\": \"cut", "standard input:3"},
      {"", "standard input"}};
  for (const auto& [text, place] : wrong) {
    const Filled pipe(text);
    const std::string fault = error_text([&] { PipedText(pipe.descriptor(), file); });
    EXPECT_ERROR_AT(fault, place);
    EXPECT_FALSE(fs::exists(file)) << place;
  }
}

}  // namespace
}  // namespace alibi
