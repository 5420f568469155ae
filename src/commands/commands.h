// The commands of the program, one file each. Parsing only notes what to run; main runs it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace alibi {

struct Session {
  std::vector<std::string> arguments;  // the command line, for reports
  std::function<int()> run;            // set by the command that was named; returns the exit code
  std::string command_line() const;
};

void add_commands(CLI::App& app, Session& session);
void add_prepare_command(CLI::App& app, Session& session);
void add_train_command(CLI::App& app, Session& session);
void add_evaluate_command(CLI::App& app, Session& session);
void add_generate_command(CLI::App& app, Session& session);
void add_inspect_command(CLI::App& app, Session& session);
void add_bench_command(CLI::App& app, Session& session);

// Prints help or one line about a wrong command line; returns the exit code (0 for help, else 2).
int explain_parse_error(CLI::App& app, const CLI::Error& error);

// What a foreign exception says, without its stack trace.
std::string first_line(const std::string& text);

// The help text and options that every command shares.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::string& example);
void add_set_option(CLI::App& command, std::vector<std::string>& overrides);

}  // namespace alibi
