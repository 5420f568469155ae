// alibi import: weights and tokenizer of other programs' folders as a checkpoint to train on from.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "commands/atomic_output.h"
#include "commands/commands.h"
#include "commands/found.h"
#include "config/load.h"
#include "convert/huggingface.h"
#include "convert/import_config.h"
#include "convert/import_tokenizer.h"
#include "report/table.h"

namespace alibi {
namespace {
namespace fs = std::filesystem;

struct Options {
  std::string folder, output;
  bool as_json = false;
};

fs::path default_output(const fs::path& folder) {
  return fs::path("imports") / without_slash(fs::absolute(folder).lexically_normal()).filename();
}

std::string summary(const Config& config, std::int64_t parameters) {
  return cat(with_commas(parameters), " parameters: ", config.model.layers, " layers of width ",
             config.model.width, ", ", config.model.heads, " heads, positions ",
             name_of(config.model.position), ", vocabulary ",
             with_commas(config.tokenizer.vocabulary));
}

// What our own config does not take is the folder's fault, not a wrong command line.
template <class Make>
Config config_of(const std::string& folder, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw Error(folder, cat("describes a model that this program cannot have: ", error.what()));
  }
}

// OWNER/NAME, and nothing here.
bool names_a_repository(const std::string& folder) {
  return std::ranges::count(folder, '/') == 1 && folder.front() != '/' && folder.back() != '/' &&
         folder.front() != '.' && !fs::exists(folder) &&
         !fs::exists(fs::path(folder).parent_path());
}

int run(const Options& options) {
  if (options.folder.empty()) throw usage_error("FOLDER", "is empty", "name a folder");
  if (names_a_repository(options.folder)) {
    throw Error(options.folder, "no such folder",
                cat("if it is a repository of the Hub: hf download ",
                    quoted_for_shell(options.folder), " --local-dir FOLDER, then import that"));
  }
  const fs::path target =
      options.output.empty() ? default_output(options.folder) : without_slash(options.output);
  refuse_existing(target);
  ForeignModel foreign = read_huggingface(options.folder);
  const Tokenizer tokenizer = import_tokenizer(foreign, options.folder);
  const std::string name = target.filename().string();
  if (name.starts_with('.'))
    throw usage_error("--output", cat("names the run \"", name, "\""),
                      "a name that does not begin with a dot");
  const fs::path tokenizer_file =
      checkpoint_path(target / "checkpoints", 0) / Tokenizer::file_name(tokenizer.model());
  const Config config = config_of(
      options.folder, [&] { return imported_config(foreign, tokenizer, name, tokenizer_file); });
  const bool has_table = position_method(config.model.position).has_table;
  std::int64_t parameters = 0;
  for (const auto& [tensor, values] : foreign.weights) parameters += values.numel();
  Checkpoint checkpoint{
      config_json(config), tokenizer.model(), "imported", "", {}, std::move(foreign.weights), {}};
  write_atomically(target, [&](const fs::path& path) {
    leave_if_stopped("import");
    make_folders(path);
    save_checkpoint(path / "checkpoints", checkpoint);
    leave_if_stopped("import");
    write_file_atomic(path / "config.schema.json", config_schema());
    write_file_atomic(path / "train.json", continuing_config(config, target, false));
    if (has_table)
      write_file_atomic(path / "train-alibi.json", continuing_config(config, target, true));
    sync_folder(path);
  });
  log_info(summary(config, parameters));
  for (const std::string& note : foreign.notes) log_info("note: " + note);
  log_info(cat("to train on, from this folder: alibi train ",
               quoted_for_shell((target / "train.json").string()),
               " --set 'data.train=[\"FILE\"]'"));
  if (has_table)
    log_info(cat("with linear biases instead of its table of positions: ",
                 (target / "train-alibi.json").string()));
  return print_found({cat("written: ", target.string(), "\n"),
                      document("import", {{"path", target.string()},
                                          {"parameters", parameters},
                                          {"position", name_of(config.model.position)},
                                          {"config", (target / "train.json").string()}})},
                     options.as_json);
}

}  // namespace

Command import_command() {
  auto options = std::make_shared<Options>();
  return {.name = "import",
          .summary = "Import a folder of transformers: GPT-2, MPT or BLOOM",
          .footer = example("alibi import downloads/gpt2 --output imports/gpt2"),
          .options = {{.name = "FOLDER",
                       .meaning = "config.json, safetensors weights and tokenizer.json (or "
                                  "tokenizer.model, or vocab.json and merges.txt)",
                       .target = &options->folder,
                       .required = true},
                      {.name = "--output",
                       .meaning = "Default: imports/NAME",
                       .target = &options->output},
                      json_option(options->as_json)},
          .run = [options](const CommandLine&) { return run(*options); }};
}

}  // namespace alibi
