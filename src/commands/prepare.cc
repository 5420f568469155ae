// alibi prepare: raw text to a folder of tokens, to be named as data.train.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "commands/atomic_output.h"
#include "commands/commands.h"
#include "commands/found.h"
#include "commands/prepare_task.h"
#include "commands/text_progress.h"
#include "config/load.h"
#include "data/make_prepared.h"
#include "data/piped_text.h"
#include "data/prepare.h"
#include "device/device.h"
#include "report/progress.h"
#include "text/tasks.h"

namespace alibi {
namespace {

struct Options {
  std::vector<std::string> configs, overrides;
  std::string output, progress;
  TaskFile task;
  bool as_json = false, idle_given = false, ignored_given = false;
};

int make_task(const Options& options) {
  if (!options.configs.empty() || !options.overrides.empty())
    throw usage_error("--task", "takes no config: its texts are made, not read");
  if (options.as_json) throw usage_error("--json", "has no effect with --task");
  if (!options.progress.empty()) throw usage_error("--progress", "has no effect with --task");
  const auto only_of = [&](const char* task, bool given, const char* option) {
    if (given && options.task.task != task)
      throw usage_error(option, cat("has no effect with --task ", options.task.task),
                        cat("it belongs to --task ", task));
  };
  only_of("recall", options.idle_given, "--idle");
  only_of("flip_flop", options.ignored_given, "--ignored");
  TaskFile file = options.task;
  file.output = options.output;
  write_task_file(file);
  return 0;
}

constexpr const char* kPipe = "-";

// Before what may be hours of reading.
void check_pipe(const Options& options) {
  if (options.output.empty())
    throw usage_error(kPipe, "is read once, so what is made needs a name", "--output FOLDER");
  refuse_existing(options.output);
  if (::isatty(STDIN_FILENO) == 1)
    throw usage_error(kPipe, "standard input is a terminal, expected a pipe of JSON lines",
                      "for example zcat a.jsonl.gz | alibi prepare - --output FOLDER");
}

// What comes through the pipe, kept beside `folder`, becomes data.train.
std::unique_ptr<PipedText> read_pipe(const std::filesystem::path& folder) {
  TaskProgress line(stderr, "reading standard input", 0, "bytes");
  auto piped = std::make_unique<PipedText>(
      STDIN_FILENO, name_beside(folder, "input.jsonl"),
      [&](std::int64_t bytes) { line.show(static_cast<double>(bytes)); });
  line.finish();
  return piped;
}

int run(const Options& options) {
  show_progress_as(options.progress);
  if (!options.task.task.empty()) return make_task(options);
  allow_overrides(options.overrides, {"data", "tokenizer", "runtime.threads"},
                  "has no effect on prepare");
  std::vector<std::string> files = options.configs;
  const bool is_piped = std::erase(files, kPipe) > 0;
  Config config = load_config(files, options.overrides);
  if (config.data.train.empty() && !is_piped)
    throw usage_error("/data/train", "names no text", "--set 'data.train=[\"FILE\"]'");
  std::optional<FoldersAbove> above;
  std::unique_ptr<PipedText> piped;
  if (is_piped) {
    check_pipe(options);
    const auto folder = std::filesystem::absolute(without_slash(options.output));
    above.emplace(folder);
    piped = read_pipe(folder);
    config.data.train = {piped->file().string()};
  }
  if (!options.output.empty()) refuse_existing(options.output);
  TextProgress progress;
  const int threads = set_threads(config.runtime.threads);
  const PreparedText text =
      options.output.empty()
          ? prepare_text(config.data, config.tokenizer, threads, progress.hooks())
          : prepare_text_into(options.output, config.data, config.tokenizer, threads,
                              progress.hooks());
  progress.finish();
  return print_found(describe_text(text), options.as_json);
}

}  // namespace

Command prepare_command() {
  auto options = std::make_shared<Options>();
  Option text = config_files(options->configs);
  text.meaning += "; - reads JSON lines from standard input in place of data.train";
  return {.name = "prepare",
          .summary =
              "Tokenise text into a folder that data.train can name, or make the texts of a task",
          .footer = example("alibi prepare configs/quickstart.json --output prepared/python\n"
                            "  zcat more/*.jsonl.gz | alibi prepare - --output prepared/more\n"
                            "  alibi prepare --task recall --sizes 4,32 --output recall.jsonl"),
          .options = {std::move(text),
                      {.name = "--output",
                       .meaning =
                           "Folder to make; without it the user's cache folder. Of a task: a file",
                       .target = &options->output},
                      json_option(options->as_json),
                      progress_option(options->progress),
                      {.name = "--task",
                       .meaning = "Write texts of this task, of which answers are learned",
                       .target = &options->task.task,
                       .choices = task_names()},
                      {.name = "--sizes",
                       .meaning = "Least and most size of a text, in the task's units",
                       .target = &options->task.sizes,
                       .commas = true,
                       .needs = "--task"},
                      {.name = "--texts",
                       .meaning = "How many",
                       .target = &options->task.texts,
                       .shows_default = true,
                       .range = OptionRange{1, 1e9},
                       .needs = "--task"},
                      {.name = "--seed",
                       .meaning = "Other texts for another seed",
                       .target = &options->task.seed,
                       .shows_default = true,
                       .needs = "--task"},
                      {.name = "--ignored",
                       .meaning = "Share of a flip-flop's instructions that are ignored",
                       .target = &options->task.ignored,
                       .shows_default = true,
                       .range = OptionRange{0, 1},
                       .needs = "--task",
                       .given = &options->ignored_given},
                      {.name = "--idle",
                       .meaning = "Share of idle words among the pairs of a recall",
                       .target = &options->task.idle,
                       .shows_default = true,
                       .range = OptionRange{0, 0.99},
                       .needs = "--task",
                       .given = &options->idle_given},
                      set_option(options->overrides)},
          .run = [options](const CommandLine&) { return run(*options); }};
}

}  // namespace alibi
