// The commands of the program, one file each. Parsing only notes what to run; main runs it.
#pragma once

#include <exception>
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
void add_compare_command(CLI::App& app, Session& session);
void add_generate_command(CLI::App& app, Session& session);
void add_export_command(CLI::App& app, Session& session);
void add_import_command(CLI::App& app, Session& session);
void add_inspect_command(CLI::App& app, Session& session);
void add_bench_command(CLI::App& app, Session& session);
void add_completion_command(CLI::App& app, Session& session);

// Prints help or one line about a wrong command line; returns the exit code (0 for help, else 2).
int explain_parse_error(CLI::App& app, const CLI::Error& error);

std::string first_line(const std::string& text);

// What an exception not of our own says, in one line without its stack trace; memory that ran out
// in our words, whoever asked for it.
std::string foreign_error(const std::exception& error);

// The help text and options that every command shares.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::string& example);
void add_set_option(CLI::App& command, std::vector<std::string>& overrides);

}  // namespace alibi
