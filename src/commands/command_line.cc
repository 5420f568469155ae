#include "commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>
#include <limits>

#include "base/printable.h"
#include "base/strings.h"
#include "commands/commands.h"

namespace alibi {
namespace {

// What CLI11 finds out, beside the options' values.
struct Found {
  const Command* command = nullptr;
  std::vector<std::pair<const CLI::Option*, bool*>> given;
};

CLI::Option* declare_target(CLI::App& app, const Option& option) {
  return std::visit(
      [&](auto* target) {
        if constexpr (std::is_same_v<decltype(target), bool*>)
          return app.add_flag(option.name, *target, option.meaning);
        else
          return app.add_option(option.name, *target, option.meaning);
      },
      option.target);
}

// Says so of "nan", which compares with nothing, too.
CLI::Validator number_within(double least, double most) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            return is_number && least <= value && value <= most
                       ? std::string()
                       : cat("found ", text, ", expected a number from ", least, " to ", most);
          },
          cat("FLOAT in [", least, " - ", most, "]")};
}

// A library would take 010 for 8, -1 for the largest seed and what is too large for the largest.
CLI::Validator whole_within(std::int64_t least, std::int64_t most, const std::string& name) {
  return {[=](std::string& text) {
            std::int64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [rest, fault] =
                std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, value);
            if (fault != std::errc() || rest != end || value < least || value > most)
              return cat("found ", shown(text), ", expected a whole number from ", least, " to ",
                         most);
            text = std::to_string(value);
            return std::string();
          },
          name};
}

bool is_whole(const OptionTarget& target) {
  return std::holds_alternative<std::int64_t*>(target) ||
         std::holds_alternative<std::vector<std::int64_t>*>(target) ||
         std::holds_alternative<std::uint64_t*>(target);
}

void declare_number(CLI::Option& declared, const Option& option) {
  if (!is_whole(option.target)) {
    if (option.range) declared.check(number_within(option.range->least, option.range->most));
    return;
  }
  const bool is_seed = std::holds_alternative<std::uint64_t*>(option.target);
  std::int64_t least = is_seed ? 0 : std::numeric_limits<std::int64_t>::min(),
               most = std::numeric_limits<std::int64_t>::max();
  std::string name;
  if (option.range) {
    least = static_cast<std::int64_t>(option.range->least);
    most = static_cast<std::int64_t>(option.range->most);
    name = cat("INT in [", least, " - ", most, "]");
  }
  declared.transform(whole_within(least, most, name));
}

// A library would print the largest double.
std::string refuse_not_positive(const std::string& text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) && value > 0
             ? std::string()
             : cat("found ", shown(text), ", expected a number above 0");
}

// Of a script's variable that is not set: never the same as leaving the option out.
std::string refuse_empty(const std::string& value) {
  return value.empty() ? "is empty, expected a value" : "";
}

CLI::Validator one_of(const std::vector<std::string>& choices) {
  return {[choices](const std::string& text) -> std::string {
            if (std::ranges::find(choices, text) != choices.end()) return "";
            const std::string near = nearest(text, choices);
            return cat("found ", shown(text), ", expected one of ", join(choices, ", "),
                       near.empty() ? "" : "; did you mean " + shown(near) + "?");
          },
          cat("{", join(choices, ","), "}")};
}

void declare(CLI::App& app, const Option& option, Found& found) {
  CLI::Option* declared = declare_target(app, option);
  const bool is_text = std::holds_alternative<std::string*>(option.target) ||
                       std::holds_alternative<std::vector<std::string>*>(option.target);
  if (is_text && !option.may_be_empty) declared->check(CLI::Validator(refuse_empty, ""));
  declared->required(option.required);
  constexpr int kMostTimes = CLI::detail::expected_max_vector_size - 1;  // "..." is not shown
  if (option.one_value) declared->allow_extra_args(false)->expected(1, kMostTimes);
  if (option.commas) declared->delimiter(',');
  if (option.positive) declared->check(CLI::Validator(refuse_not_positive, "POSITIVE"));
  declare_number(*declared, option);
  if (!option.choices.empty()) declared->check(one_of(option.choices));
  if (option.shows_default) declared->capture_default_str();
  if (!option.excludes.empty()) declared->excludes(app.get_option(option.excludes));
  if (!option.needs.empty()) declared->needs(app.get_option(option.needs));
  if (!option.value_name.empty()) declared->type_name(option.value_name);
  if (option.given != nullptr) found.given.emplace_back(declared, option.given);
}

void declare(CLI::App& app, const Command& command, Found& found) {
  app.footer(command.footer);
  if (!command.version.empty()) app.set_version_flag("--version", command.version, kVersionMeaning);
  for (const Option& option : command.options) declare(app, option, found);
  for (const Command& below : command.commands) {
    CLI::App& declared = *app.add_subcommand(below.name, below.summary);
    if (below.hidden) declared.group("");
    declare(declared, below, found);
  }
  if (command.commands.empty())
    app.callback([&] { found.command = &command; });
  else
    app.require_subcommand(1);
}

// The command that was called without one of those it consists of; null: none was.
const CLI::App* command_without_subcommand(const CLI::App& app) {
  const auto below = app.get_subcommands({});
  if (below.empty()) return nullptr;
  const auto called = app.get_subcommands();
  return called.empty() ? &app : command_without_subcommand(*called.front());
}

std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::string name = nearest(word, names);
  return name.empty() ? "" : cat("did you mean ", name, "? ");
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string missing_subcommand(const CLI::App& command, const std::vector<std::string>& found) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands({}))
    if (!below->get_group().empty()) names.push_back(below->get_name());
  const std::string all = cat("commands of ", command.get_display_name(), ": ", join(names, ", "));
  if (found.empty()) return cat("names no command (", all, ")");
  const std::string& word = found.front();
  const std::string near = suggestion(word, word.starts_with("--") ? option_names(command) : names);
  return cat("'", word, "' is not a command (", near, all, ")");
}

const CLI::App& called_command(const CLI::App& app) {
  const auto called = app.get_subcommands();
  return called.empty() ? app : called_command(*called.front());
}

// For the first word that looks like an option and is none of the called command's.
std::string suggested_option(const CLI::App& app) {
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("--")) continue;
    const auto names = option_names(called_command(app));
    const std::string near = suggestion(word.substr(0, word.find('=')), names);
    const bool takes_keys = std::ranges::find(names, "--set") != names.end();
    return near.empty() && takes_keys ? "a config key is given by --set KEY=VALUE; " : near;
  }
  return "";
}

// Prints help or one line about a wrong command line; returns the exit code.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  if (const auto* at = command_without_subcommand(app)) {
    std::cerr << "command line: " << missing_subcommand(*at, app.remaining(true)) << "\n";
    return 2;
  }
  const bool is_unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  std::cerr << "command line: " << first_line(error.what()) << " ("
            << (is_unknown ? suggested_option(app) : "") << "alibi --help, alibi COMMAND --help)\n";
  return 2;
}

}  // namespace

std::string CommandLine::text() const {
  std::vector<std::string> named = words;
  named.front() = "alibi";
  return shell_command(named);
}

Option config_files(std::vector<std::string>& files) {
  return {.name = "CONFIG", .meaning = "Config files, merged left to right", .target = &files};
}

Option set_option(std::vector<std::string>& overrides) {
  return {.name = "--set",
          .meaning = "Change one config key, for example model.heads=4; once for each key",
          .target = &overrides,
          .one_value = true,
          .value_name = "PATH=VALUE"};
}

std::string example(const std::string& command_line) { return "Example:\n  " + command_line; }

int run_command_line(const Command& program, const CommandLine& line) {
  CLI::App app(program.summary, program.name);
  app.set_help_flag("-h,--help", kHelpMeaning);
  Found found;
  declare(app, program, found);
  std::vector<std::string> backwards(line.words.rbegin(), line.words.rend());
  if (!backwards.empty()) backwards.pop_back();
  try {
    app.parse(std::move(backwards));
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  for (const auto& [option, given] : found.given) *given = option->count() > 0;
  return found.command->run(line);
}

}  // namespace alibi
