// Runs another program: its memory, time and failure are its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace alibi {

inline constexpr int kUnknownEnd = 256;  // unknown: somebody else waited for it

struct ProcessResult {
  int code = 0;  // exit code, 128 + signal, or kUnknownEnd
  // By a signal; one that it heeds makes it end by itself, with that code, too.
  bool killed = false;
  double seconds = 0;
  std::int64_t peak_memory_bytes = 0;  // its largest resident set
};

class ChildProcess {
 public:
  // Runs arguments[0] (a path, no search) with its standard output and error appended to `output`,
  // in a process group of its own; it is killed when we die. Throws Error when that file cannot be
  // opened; a program that cannot be run ends with code 127.
  ChildProcess(const std::vector<std::string>& arguments, const std::filesystem::path& output);
  ~ChildProcess();  // one still running is killed: whoever leaves early has stopped it before
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void signal(int number);                                 // nothing when it has ended
  bool ended(double seconds);                              // waits so long at most
  const ProcessResult& result() const { return result_; }  // once it has ended

 private:
  pid_t child_ = -1;
  double start_;
  ProcessResult result_;
};

std::filesystem::path own_program();  // the path of the running program's file

}  // namespace alibi
