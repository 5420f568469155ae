#include "commands/commands.h"

#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/strings.h"
#include "base/version.h"
#include "device/memory.h"

namespace alibi {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 failure; 2 wrong command line or config; 128 + signal where one stopped "
    "it\n"
    "(TERM 143, INT 130, USR1 138, HUP 129): train saves what it has first, a second signal leaves "
    "at "
    "once;\n"
    "134 a fault of this program, with its place.\n"
    "Every setting is a config key: alibi inspect schema --markdown lists them.";

// The command that was called without one of those it consists of; null: none was.
const CLI::App* command_without_subcommand(const CLI::App& app) {
  const auto below = app.get_subcommands({});
  if (below.empty()) return nullptr;
  const auto called = app.get_subcommands();
  return called.empty() ? &app : command_without_subcommand(*called.front());
}

std::string missing_subcommand(const CLI::App& command, const std::vector<std::string>& found) {
  std::string names;
  for (const CLI::App* below : command.get_subcommands({}))
    names += cat(names.empty() ? "" : ", ", below->get_name());
  const std::string problem =
      found.empty() ? "names no command" : cat("'", found.front(), "' is not a command");
  return cat(problem, " (", command.get_display_name(), " knows: ", names, ")");
}

}  // namespace

std::string Session::command_line() const {
  std::string text = "alibi";
  for (std::size_t i = 1; i < arguments.size(); ++i) text += " " + quoted_for_shell(arguments[i]);
  return text;
}

void add_commands(CLI::App& app, Session& session) {
  app.name("alibi");
  app.description(
      "Trains language models on short sequences and measures them on long ones (ALiBi).");
  app.set_version_flag("--version", cat("alibi ", kVersion, " (LibTorch ", TORCH_VERSION, ")"));
  app.footer(kFooter);
  app.require_subcommand(1);
  add_prepare_command(app, session);
  add_train_command(app, session);
  add_evaluate_command(app, session);
  add_compare_command(app, session);
  add_generate_command(app, session);
  add_export_command(app, session);
  add_import_command(app, session);
  add_inspect_command(app, session);
  add_bench_command(app, session);
  add_completion_command(app, session);
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::string& example) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->footer("Example:\n  " + example);
  return command;
}

void add_set_option(CLI::App& command, std::vector<std::string>& overrides) {
  command
      .add_option("--set", overrides,
                  "Change one config key, for example model.heads=4; once for each key")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

int explain_parse_error(CLI::App& app, const CLI::Error& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  if (const auto* at = command_without_subcommand(app)) {
    std::cerr << "command line: " << missing_subcommand(*at, app.remaining(true)) << "\n";
    return 2;
  }
  std::cerr << "command line: " << first_line(error.what())
            << " (alibi --help, alibi COMMAND --help)\n";
  return 2;
}

std::string foreign_error(const std::exception& error) {
  if (is_out_of_memory(error))
    return "out of memory (a smaller model or batch.micro_batch_tokens; for prepare, shorter "
           "documents or a smaller tokenizer.sample_bytes)";
  if (is_device_failure(error))
    return cat(
        "CUDA device: ", first_line(error.what()),
        " (this process can do nothing more on it; nvidia-smi and the system's log say why, and a "
        "run goes on from its last checkpoint with alibi train --resume)");
  return first_line(error.what());
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace alibi
