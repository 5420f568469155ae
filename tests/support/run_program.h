// Runs the real program as a user would: its exit code, what it printed, and what it left behind.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"

namespace alibi {

// ALIBI_PROGRAM names it where tests run elsewhere than they were built (scripts/gpu-check).
inline std::string tested_program() {
  const char* given = std::getenv("ALIBI_PROGRAM");
  return given != nullptr ? given : ALIBI_BINARY;
}

struct ProgramOptions {
  std::filesystem::path folder;    // working folder; its cache/ is the user's cache folder
  std::int64_t largest_file = -1;  // bytes; -1: no limit. Beyond it writing fails as on a full disk
  std::string standard_output;     // a file to write to instead of catching it
  std::string program = tested_program();
};

struct ProgramResult {
  int code = -1;        // 128 + signal when it was killed
  bool killed = false;  // by a signal that it did not handle
  std::string out, err;
  double seconds = 0;  // of the clock
  double processor_seconds = 0;
  std::int64_t peak_bytes = 0;  // of resident memory, pages of files among it
  std::int64_t error_lines() const { return std::count(err.begin(), err.end(), '\n'); }
};

class RunningProgram {
 public:
  RunningProgram(std::vector<std::string> arguments, const ProgramOptions& options)
      : start_(seconds_now()) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) abort();
    child_ = fork();
    if (child_ == 0) run(arguments, options, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    pipes_[0] = {out[0], POLLIN, 0};
    pipes_[1] = {err[0], POLLIN, 0};
  }
  ~RunningProgram() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    for (const pollfd& pipe : pipes_) {
      if (pipe.fd >= 0) close(pipe.fd);
    }
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  void signal(int number) { kill(child_, number); }
  pid_t id() const { return child_; }

  // Reads on until stderr holds `text`; false when the program ends or 60 s pass before.
  bool wait_for_output(const std::string& text) {
    const double end = seconds_now() + 60;
    while (result_.err.find(text) == std::string::npos) {
      if (seconds_now() > end || !pump()) return result_.err.find(text) != std::string::npos;
    }
    return true;
  }

  ProgramResult wait() {
    while (pump()) {
    }
    int status = 0;
    rusage usage{};
    wait4(child_, &status, 0, &usage);
    child_ = -1;
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      result_.processor_seconds += double(time.tv_sec) + 1e-6 * double(time.tv_usec);
    result_.peak_bytes = std::int64_t{usage.ru_maxrss} * 1024;
    result_.killed = WIFSIGNALED(status);
    result_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result_.seconds = seconds_now() - start_;
    return result_;
  }

 private:
  [[noreturn]] static void run(std::vector<std::string>& arguments, const ProgramOptions& options,
                               int out, int err) {
    for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGHUP})
      ::signal(number, SIG_DFL);  // also where the tests run in the background, with INT ignored
    const int input = open("/dev/null", O_RDONLY);
    if (!options.standard_output.empty())
      out = open(options.standard_output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(input, 0);
    dup2(out, 1);
    dup2(err, 2);
    if (!options.folder.empty()) {
      if (chdir(options.folder.c_str()) != 0) _exit(99);
      setenv("XDG_CACHE_HOME", (options.folder / "cache").c_str(), 1);
    }
    setenv("OMP_NUM_THREADS", "1", 1);  // tiny models; and the same bits on every machine
    if (options.largest_file >= 0) {
      const auto bytes = static_cast<rlim_t>(options.largest_file);
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    std::vector<char*> words = {const_cast<char*>(options.program.c_str())};
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(98);
  }

  // Waits for output and takes it; false when both ends are closed.
  bool pump() {
    if (pipes_[0].fd < 0 && pipes_[1].fd < 0) return false;
    poll(pipes_.data(), pipes_.size(), 1000);
    for (pollfd& pipe : pipes_) {
      if (pipe.fd < 0 || pipe.revents == 0) continue;
      char buffer[1 << 14];
      const ssize_t got = read(pipe.fd, buffer, sizeof buffer);
      if (got > 0) {
        (&pipe == pipes_.data() ? result_.out : result_.err)
            .append(buffer, static_cast<std::size_t>(got));
      } else {
        close(pipe.fd);
        pipe.fd = -1;
      }
    }
    return true;
  }

  double start_;
  pid_t child_ = -1;
  std::array<pollfd, 2> pipes_{};
  ProgramResult result_;
};

inline ProgramResult run_program(const std::vector<std::string>& arguments,
                                 const ProgramOptions& options = {}) {
  return RunningProgram(arguments, options).wait();
}

// Every file and folder below `folder`, for "nothing was left behind".
inline std::vector<std::string> everything_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    names.push_back(std::filesystem::relative(entry.path(), folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace alibi
