// Stopping by signal. The first TERM, INT, USR1 or HUP asks the loop to finish its step and save;
// a second one leaves at once. PIPE is ignored, so a closed pipe is an ordinary write error; CHLD
// is not, so that the end of a child process is reported.
#pragma once

#include <string>
#include <thread>

namespace alibi {

void install_stop_handlers();
int stop_signal();  // 0 while nobody asked, else the signal's number
// Throws stopped_error, "nothing was written", where somebody asked.
void leave_if_stopped(const std::string& place);
// While it lives a stop is heeded at once, by a library's loop that cannot ask: says so and leaves
// the process. For work whose halves nobody will find.
class LeaveWhenStopped {
 public:
  explicit LeaveWhenStopped(std::string place);

 private:
  std::jthread watch_;
};
void request_stop(int signal);  // the same from code, for tests
void clear_stop();              // for tests

}  // namespace alibi
