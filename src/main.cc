// The program: builds the command line, runs one command, turns an Error into one line and an exit
// code.
#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mapping_guard.h"
#include "base/stop.h"
#include "commands/commands.h"
#include "device/device.h"
#include "device/memory.h"

int main(int argc, char** argv) {
  alibi::fill_standard_descriptors();
  alibi::install_stop_handlers();
  alibi::install_mapping_guard();
  alibi::keep_freed_memory();
  alibi::limit_threads();
  try {
    const int code = alibi::run_command_line(alibi::program(), {{argv, argv + argc}});
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw alibi::Error("standard output", "not everything could be written");
    return code;
  } catch (const alibi::Error& error) {
    alibi::log_error(error.what());
    return alibi::leave_process(static_cast<int>(error.exit_code()));
  } catch (const std::exception& error) {
    alibi::log_error(alibi::foreign_error(error));
  }
  return 1;
}
