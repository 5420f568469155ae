// alibi prepare: raw text to a folder of tokens, to be named as data.train.
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "commands/prepare_task.h"
#include "commands/text_progress.h"
#include "config/load.h"
#include "data/prepare.h"
#include "device/device.h"
#include "report/table.h"
#include "text/tasks.h"

namespace alibi {
namespace {

struct Options {
  std::vector<std::string> configs, overrides;
  std::string output;
  TaskFile task;
};

int make_task(const Options& options) {
  if (!options.configs.empty() || !options.overrides.empty())
    throw usage_error("--task", "takes no config: its texts are made, not read");
  TaskFile file = options.task;
  file.output = options.output;
  write_task_file(file);
  return 0;
}

int run(const Options& options) {
  if (!options.task.task.empty()) return make_task(options);
  allow_overrides(options.overrides, {"data", "tokenizer", "runtime.threads"},
                  "has no effect on prepare");
  const Config config = load_config(options.configs, options.overrides);
  if (config.data.train.empty())
    throw usage_error("/data/train", "names no text", "--set 'data.train=[\"FILE\"]'");
  TextProgress progress;
  const int threads = set_threads(config.runtime.threads);
  const PreparedText text =
      options.output.empty()
          ? prepare_text(config.data, config.tokenizer, threads, progress.hooks())
          : prepare_text_into(options.output, config.data, config.tokenizer, threads,
                              progress.hooks());
  progress.finish();
  std::fputs(describe_text(text).c_str(), stdout);
  return 0;
}

}  // namespace

Command prepare_command() {
  auto options = std::make_shared<Options>();
  return {.name = "prepare",
          .summary =
              "Tokenise text into a folder that data.train can name, or make the texts of a task",
          .footer = example("alibi prepare configs/quickstart.json --output prepared/python\n"
                            "alibi prepare --task recall --sizes 4,32 --output recall.jsonl"),
          .options = {config_files(options->configs),
                      {.name = "--output",
                       .meaning =
                           "Folder to make; without it the user's cache folder. Of a task: a file",
                       .target = &options->output},
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
                       .needs = "--task"},
                      {.name = "--idle",
                       .meaning = "Share of idle words among the pairs of a recall",
                       .target = &options->task.idle,
                       .shows_default = true,
                       .range = OptionRange{0, 0.99},
                       .needs = "--task"},
                      set_option(options->overrides)},
          .run = [options](const CommandLine&) { return run(*options); }};
}

}  // namespace alibi
