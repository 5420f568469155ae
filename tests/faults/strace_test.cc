// The real program's own system calls, watched and made to fail by strace: what the hook of
// base/system_calls shows in process holds for the kernel too (R2, R3). Skipped by name where
// strace is missing or may not trace. Seen failing with files not synced, with the folder of a
// rename not synced, and with errors of fsync dropped.
//
// The long form breaks every call, the short one every sixth.
#include <cstring>
#include <set>

#include "faults/killed_runs.h"
#include "support/error_text.h"

namespace alibi {
namespace {
namespace fs = std::filesystem;

class TracedSlow : public KilledRuns {
 protected:
  void SetUp() override {
    if (!fs::exists(kStrace)) GTEST_SKIP() << "no strace here (scripts/setup --verify)";
    if (strace({"/bin/true"}).code != 0) GTEST_SKIP() << "no process may be traced here";
  }

  // Two steps a save, two saves; written by the thread that trains, so that calls have one order.
  static std::vector<std::string> words(const std::string& run) {
    return {"train",
            "tiny.json",
            "--resume",
            "--set",
            "run.name=" + run,
            "--set",
            "run.train_tokens=1024",
            "--set",
            "run.save_every_tokens=512",
            "--set",
            "run.save_in_background=false"};
  }

  ProgramResult strace(const std::vector<std::string>& arguments) const {
    ProgramOptions options = place_.options();
    options.program = kStrace;
    std::vector<std::string> all = {"-f", "-qq", "-y", "-s", "0", "-o", place_.path("trace")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run_program(all, options);
  }

  ProgramResult traced(const std::string& run, const std::vector<std::string>& how) const {
    std::vector<std::string> arguments = how;
    arguments.push_back(ALIBI_BINARY);
    for (const std::string& word : words(run)) arguments.push_back(word);
    return strace(arguments);
  }

  std::vector<std::string> trace_lines() const {
    std::vector<std::string> lines;
    std::istringstream trace(place_.read("trace"));
    for (std::string line; std::getline(trace, line);) {
      // "12345 fsync(7</folder/file>) = 0": the process goes.
      lines.push_back(line.substr(line.find_first_not_of("0123456789 ")));
    }
    return lines;
  }

  // A run goes on without these files, which it writes again: a warning names the error.
  bool broke_a_page() const {
    const std::vector<std::string> lines = trace_lines();
    return std::ranges::any_of(lines, [](const std::string& line) {
      return line.find("(INJECTED)") != std::string::npos &&
             line.find("/report.html") != std::string::npos;
    });
  }

  static constexpr const char* kStrace = "/usr/bin/strace";
};

// What stands between the n-th `left` and the next `right`.
std::string between(const std::string& line, char left, char right, int n = 0) {
  std::size_t first = line.find(left);
  for (; n > 0; --n) first = line.find(left, first + 1);
  return line.substr(first + 1, line.find(right, first + 1) - first - 1);
}

TEST_F(TracedSlow, EveryByteIsSyncedBeforeItsNameAndTheNameAfter) {
  const ProgramResult run =
      traced("run", {"-e", "trace=write,pwrite64,fsync,rename,renameat,renameat2"});
  ASSERT_EQ(run.code, 0) << run.err;
  std::set<std::string> unsynced, unsynced_names;
  std::int64_t renames = 0;
  for (const std::string& line : trace_lines()) {
    const std::string path = between(line, '<', '>');
    if (line.starts_with("write") || line.starts_with("pwrite64")) {
      if (path.find("/checkpoints/") != std::string::npos) unsynced.insert(path);
    } else if (line.starts_with("fsync")) {
      unsynced.erase(path);
      std::erase_if(unsynced_names, [&](const std::string& name) {
        return path.ends_with("/" + fs::path(name).parent_path().string());
      });
    } else if (line.starts_with("rename")) {
      const std::string from = between(line, '"', '"', 0), to = between(line, '"', '"', 2);
      if (to.find("checkpoints/step-") == std::string::npos) continue;
      ++renames;
      unsynced_names.insert(to);
      for (const std::string& file : unsynced)
        EXPECT_EQ(file.find(from), std::string::npos) << file << " is named before it is synced";
    }
  }
  EXPECT_GE(renames, 2);
  EXPECT_TRUE(unsynced_names.empty()) << *unsynced_names.begin();
}

TEST_F(TracedSlow, ABrokenCallIsOneLineAndARestartEndsAsTheUninterruptedOne) {
  place_.works(words("whole"));  // from now on the text is prepared
  ASSERT_EQ(traced("counted", {"-e", "trace=fsync,rename,mkdir"}).code, 0);
  std::map<std::string, std::int64_t> calls;
  for (const std::string& line : trace_lines()) ++calls[line.substr(0, line.find('('))];
  whole_ = digest("whole");
  EXPECT_GT(calls["fsync"], 20);
  std::int64_t broken = 0;
  for (const auto& [call, count] : calls) {
    for (std::int64_t at = 1; at <= count; at += is_long_form() ? 1 : 6) {
      for (const char* how : {"error=EIO", "signal=KILL"}) {
        const std::string what = cat("inject=", call, ":", how, ":when=", at);
        const ProgramResult result = traced("broken", {"-e", "trace=" + call, "-e", what});
        const bool killed = std::string(how) == "signal=KILL";
        EXPECT_EQ(result.code, killed           ? 128 + SIGKILL
                               : broke_a_page() ? 0
                                                : 1)
            << what << "\n"
            << result.err;
        EXPECT_EQ(has_word(result.err, std::strerror(EIO)), !killed) << what << "\n" << result.err;
        newest_step("broken");  // none that is there may be damaged
        place_.works(words("broken"));
        EXPECT_EQ(digest("broken"), whole_) << what;
        forget("broken");
        ++broken;
      }
    }
  }
  std::printf("%lld real system calls failed or were the last of their process\n",
              static_cast<long long>(broken));
}

}  // namespace
}  // namespace alibi
