// The program: builds the command line, runs one command, turns an Error into one line and an exit
// code.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "base/mapping_guard.h"
#include "base/stop.h"
#include "commands/commands.h"
#include "device/memory.h"

int main(int argc, char** argv) {
  alibi::fill_standard_descriptors();
  alibi::install_stop_handlers();
  alibi::install_mapping_guard();
  alibi::keep_freed_memory();
  CLI::App app;
  alibi::Session session{.arguments = {argv, argv + argc}, .run = {}};
  alibi::add_commands(app, session);
  try {
    app.parse(argc, argv);
    const int code = session.run();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw alibi::Error("standard output", "not everything could be written");
    return code;
  } catch (const CLI::ParseError& error) {
    return alibi::explain_parse_error(app, error);
  } catch (const alibi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", alibi::foreign_error(error).c_str());
  }
  return 1;
}
