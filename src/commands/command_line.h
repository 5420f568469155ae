// What the command line takes, as values: each command declares its own, command_line.cc reads
// words by them, completion.cc writes them for shells.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace alibi {

// The words that the program was called with, its own name first.
struct CommandLine {
  std::vector<std::string> words;
  std::string text() const;  // "alibi train config.json", quoted for a shell: for reports
};

// Where an option's value goes: must live as long as the command's `run`.
using OptionTarget = std::variant<bool*, std::string*, std::vector<std::string>*, std::int64_t*,
                                  std::vector<std::int64_t>*, std::uint64_t*, double*>;

struct OptionRange {
  double least, most;
};

// A bool is a flag. A list takes values up to the next option unless `one_value`.
struct Option {
  std::string name;  // "--text"; "!--without-x": a flag that sets false; "CONFIG": given by place
  std::string meaning;
  OptionTarget target;
  bool required = false;
  bool shows_default = false;  // in the help
  bool one_value = false;      // of a list: one each time the option is named
  bool commas = false;         // of a list: "a,b" are two values
  bool positive = false;
  bool may_be_empty = false;  // of a text, or those of a list
  std::optional<OptionRange> range = {};
  std::vector<std::string> choices = {};
  std::string excludes = {};    // an option declared before this one
  std::string needs = {};       // an option declared before this one
  std::string value_name = {};  // in the help; empty: by the target's type
  bool* given = nullptr;        // becomes true where the option is named
};

// Has either something to run or commands of its own, one of which must be named.
struct Command {
  std::string name, summary;
  std::string footer = {};                          // below the help
  std::vector<Option> options = {};                 // in the order of the help
  std::function<int(const CommandLine&)> run = {};  // returns the exit code
  std::vector<Command> commands = {};
  bool hidden = false;       // understood, but neither in the help nor completed
  std::string version = {};  // of the program: shown by --version
};

inline constexpr const char* kHelpMeaning = "Print this help message and exit";
inline constexpr const char* kVersionMeaning = "Display program version information and exit";

// Options that several commands have, and a footer.
Option config_files(std::vector<std::string>& files);    // CONFIG...
Option set_option(std::vector<std::string>& overrides);  // --set PATH=VALUE
std::string example(const std::string& command_line);

// Runs the command that the line names and returns its exit code. Prints help or the version (0),
// or a line about a wrong command line (2) itself.
int run_command_line(const Command& program, const CommandLine& line);

}  // namespace alibi
