// Stopping by signal. The first TERM, INT, USR1 or HUP asks the loop to finish its step and save;
// a second one leaves at once. PIPE is ignored, so a closed pipe is an ordinary write error; CHLD
// is not, so that the end of a child process is reported.
#pragma once

#include <functional>
#include <string>

namespace alibi {

void install_stop_handlers();
int stop_signal();  // 0 while nobody asked, else the signal's number
// Throws stopped_error, "nothing was written", where somebody asked.
void leave_if_stopped(const std::string& place);
// For a library's loop that cannot ask: `work` runs on a thread of its own. Throws its exception,
// or stopped_error at once where somebody asks to stop; `work` then goes on, so it owns whatever it
// touches, and the process leaves by leave_process().
void run_unless_stopped(const std::string& place, std::function<void()> work);
// The exit code of main(). Does not return where abandoned work still runs.
int leave_process(int code);
void request_stop(int signal);  // the same from code, for tests
void clear_stop();              // for tests

}  // namespace alibi
