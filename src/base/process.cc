#include "base/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr int kNotStarted = 127;  // as shells say it

// In the child, where only calls that are safe in a signal handler may be made.
[[noreturn]] void become(char* const* arguments, int output, pid_t parent) {
  setpgid(0, 0);  // a Ctrl-C at the terminal is for us to pass on
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDONLY);
  const bool ready = getppid() == parent && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
                     dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
  if (ready) execv(arguments[0], arguments);
  _exit(kNotStarted);
}

// Neither through a link to another place, nor a pipe, which would wait for its reader.
int open_output(const std::filesystem::path& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int file = open(path.c_str(), kFlags, 0644);
  const int fault = errno;
  struct stat status {};
  const bool known = file >= 0 && fstat(file, &status) == 0;
  if (known && !S_ISFIFO(status.st_mode)) return file;
  if (file >= 0) close(file);
  const bool elsewhere = known || fault == ENXIO || fault == ELOOP;
  throw Error(path.string(), elsewhere ? "is a link or a pipe" : std::strerror(fault),
              "a process prints to it: move it away");
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const std::filesystem::path& output)
    : start_(seconds_now()) {
  std::vector<char*> list;
  for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  const int file = open_output(output);
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) become(list.data(), file, parent);
  const int fault = errno;
  close(file);
  if (child_ < 0) throw Error(arguments[0], cat("cannot be started: ", std::strerror(fault)));
}

ChildProcess::~ChildProcess() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

void ChildProcess::signal(int number) {
  if (child_ > 0) kill(child_, number);
}

bool ChildProcess::ended(double seconds) {
  constexpr auto kNap = std::chrono::milliseconds(20);
  const double until = seconds_now() + seconds;
  while (child_ > 0) {
    int status = 0;
    rusage usage{};
    const pid_t found = wait4(child_, &status, WNOHANG, &usage);
    if (found == child_ || (found < 0 && errno != EINTR)) {
      child_ = -1;
      result_.code = found < 0             ? kUnknownEnd
                     : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                           : WEXITSTATUS(status);
      result_.killed = found >= 0 && WIFSIGNALED(status);
      result_.seconds = seconds_now() - start_;
      result_.peak_memory_bytes = usage.ru_maxrss * 1024;
      break;
    }
    if (seconds_now() >= until) return false;
    std::this_thread::sleep_for(kNap);
  }
  return true;
}

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace alibi
