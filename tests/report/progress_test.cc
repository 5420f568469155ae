#include "report/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <cmath>

#include "base/strings.h"
#include "report/table.h"

namespace alibi {
namespace {

TrainLine train_line(std::int64_t step) {
  const StepRecord record{.step = step,
                          .tokens = step * 8192,
                          .loss = 3.21456,
                          .learning_rate = 9.8e-4,
                          .gradient_norm = 0.912};
  return {record, 1000, 12345, 210, 0.62, 1288490188, 125};
}

// Runs `use` on a plain file and returns what was written.
template <class Use>
std::string written(const Use& use) {
  std::FILE* file = std::tmpfile();
  use(file);
  std::fflush(file);
  std::rewind(file);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

// The same on a pseudo terminal of the given width and TERM.
template <class Use>
std::string on_terminal(unsigned short columns, const char* term, const Use& use) {
  ::setenv("TERM", term, 1);
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_EQ(::grantpt(master), 0);
  EXPECT_EQ(::unlockpt(master), 0);
  std::FILE* terminal = std::fopen(::ptsname(master), "w");
  if (terminal == nullptr) return "no terminal";
  const winsize size{24, columns, 0, 0};
  ::ioctl(master, TIOCSWINSZ, &size);
  ::fcntl(master, F_SETFL, O_NONBLOCK);
  use(terminal);
  std::fflush(terminal);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(master, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  std::fclose(terminal);
  ::close(master);
  return text;
}

TEST(ProgressLine, PlainLinesHoldEveryFigure) {
  const std::string text = written([](std::FILE* file) {
    ProgressLine line(file, {LiveOptions::Style::kAuto, 0.1, 0});
    EXPECT_FALSE(line.live());
    line.show(train_line(1));
    line.show(train_line(2));
  });
  EXPECT_EQ(split(text, '\n')[0],
            "step     1/1,000  8.19k tokens  loss 3.2146  lr 9.8e-04  grad 0.91  12.3k tok/s  210 "
            "GFLOP/s (62 % of "
            "peak)  1.2 GiB  ETA 2 min 5 s");
  EXPECT_EQ(split(text, '\n').size(), 3u);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(ProgressLine, PlainLinesAreFewButTheLastIsKept) {
  const std::string text = written([](std::FILE* file) {
    ProgressLine line(file, {LiveOptions::Style::kAuto, 0.1, 3600});
    for (int step = 1; step <= 50; ++step) line.show(train_line(step));
    line.finish();
    line.finish();
  });
  const auto lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 3u) << text;
  EXPECT_TRUE(lines[0].starts_with("step     1/1,000"));
  EXPECT_TRUE(lines[1].starts_with("step    50/1,000"));
}

TEST(ProgressLine, UnknownFiguresAreLeftOutButBadOnesShown) {
  TrainLine line;
  line.record.step = 7;
  line.record.loss = NAN;
  line.record.gradient_norm = INFINITY;
  line.record.learning_rate = 0;
  line.eta_seconds = NAN;
  const std::string text = written([&](std::FILE* file) { ProgressLine(file).show(line); });
  EXPECT_EQ(text, "step 7  loss nan  lr 0  grad inf\n");
}

TEST(ProgressLine, LiveLineIsRedrawnCutAndEnded) {
  ::unsetenv("NO_COLOR");
  const std::string text = on_terminal(60, "xterm", [](std::FILE* terminal) {
    ProgressLine line(terminal);
    EXPECT_TRUE(line.live());
    for (int step = 1; step <= 500; ++step) line.show(train_line(step));
    line.finish();
  });
  EXPECT_TRUE(text.starts_with("\r\x1b[K\x1b[1mstep     1/1,000\x1b[0m  ")) << text;
  EXPECT_TRUE(text.ends_with("ETA 2 min 5 s\r\n")) << text;
  EXPECT_NE(text.find("step   500/1,000"), std::string::npos);
  // Far fewer redraws than calls, and no line as wide as the terminal.
  const auto lines = split(text, '\r');
  EXPECT_LE(lines.size(), 30u);
  for (std::string line : lines) {
    for (const std::string code : {"\x1b[K", "\x1b[1m", "\x1b[0m"}) {
      if (const auto at = line.find(code); at != std::string::npos) line.erase(at, code.size());
    }
    EXPECT_LT(display_width(line), 60u) << line;
  }
}

TEST(ProgressLine, RespectsNoColorAndDumbTerminals) {
  const auto use = [](std::FILE* terminal) { ProgressLine(terminal).show(train_line(1)); };
  ::setenv("NO_COLOR", "1", 1);
  const std::string plain = on_terminal(200, "xterm", use);
  ::unsetenv("NO_COLOR");
  EXPECT_EQ(plain.find("\x1b[1m"), std::string::npos);
  EXPECT_NE(plain.find("\x1b[K"), std::string::npos);
  const std::string dumb = on_terminal(200, "dumb", use);
  EXPECT_EQ(dumb.find('\x1b'), std::string::npos);
  EXPECT_TRUE(dumb.starts_with("step"));
}

TEST(ProgressLine, InterruptClearsTheLine) {
  const std::string text = on_terminal(200, "xterm", [](std::FILE* terminal) {
    ProgressLine line(terminal);
    line.show(train_line(1));
    line.interrupt();
    std::fputs("saved\n", terminal);
    line.show(train_line(2));
  });
  EXPECT_NE(text.find("\r\x1b[Ksaved\r\n\r\x1b[K"), std::string::npos) << text;
  EXPECT_NE(text.find("2/1,000"), std::string::npos) << text;
}

TEST(ProgressLine, AClosedStreamIsNoReasonToStop) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  {
    ProgressLine line(full, {LiveOptions::Style::kPlain, 0, 0});
    line.show(train_line(1));
    line.finish();
  }
  std::fclose(full);
}

TEST(FitParts, DropsTheLeastImportantFirst) {
  const std::vector<LivePart> parts = {{"step 1", 0}, {"memory", 9}, {"rate", 5}, {"loss 2", 0}};
  EXPECT_EQ(fit_parts(parts, 80), "step 1  memory  rate  loss 2");
  EXPECT_EQ(fit_parts(parts, 21), "step 1  rate  loss 2");
  EXPECT_EQ(fit_parts(parts, 15), "step 1  loss 2");
  EXPECT_EQ(fit_parts(parts, 10), "step 1  lo");
  EXPECT_EQ(fit_parts({}, 10), "");
}

TEST(TaskProgress, ShowsShareRateAndEnd) {
  const std::string text = written([](std::FILE* file) {
    TaskProgress task(file, "tokenising", 4 << 20, "bytes", {LiveOptions::Style::kPlain, 0, 0});
    task.show(1 << 20);
    ::usleep(60000);
    task.show(2 << 20);
    task.show(4 << 20);
  });
  const auto lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "tokenising   25 %  1.0 MiB of 4.0 MiB");
  EXPECT_NE(lines[1].find("MiB/s  ETA "), std::string::npos) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("tokenising  100 %  4.0 MiB of 4.0 MiB")) << lines[2];
  EXPECT_NE(lines[2].find("  in 0."), std::string::npos) << lines[2];
}

TEST(TaskProgress, ItsRateLeavesOutWhatWasDoneBefore) {
  const std::string text = written([](std::FILE* file) {
    const LiveOptions plain{LiveOptions::Style::kPlain, 0, 0};
    TaskProgress task(file, "training", 1'000'001'000, "tokens", plain, 1e9);
    task.show(1e9);
    ::usleep(60000);
    task.show(1e9 + 1);  // at most 1 / 0.06 s = 17 tokens/s
  });
  const auto lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].find("/s"), std::string::npos) << lines[0];
  const std::size_t unit = lines[1].find(" tokens/s  ETA ");
  ASSERT_NE(unit, std::string::npos) << lines[1];
  EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(lines[1][unit - 1]))) << lines[1];
}

TEST(TaskProgress, WithoutATotal) {
  const std::string text = written([](std::FILE* file) {
    TaskProgress task(file, "reading", 0, "documents", {LiveOptions::Style::kPlain, 0, 0});
    task.show(12345);
  });
  EXPECT_EQ(text, "reading  12.3k documents\n");
}

}  // namespace
}  // namespace alibi
