// alibi prepare: raw text to a folder of tokens, to be named as data.train.
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "commands/text_progress.h"
#include "config/load.h"
#include "data/prepare.h"
#include "device/device.h"
#include "report/table.h"

namespace alibi {
namespace {

struct Options {
  std::vector<std::string> configs, overrides;
  std::string output;
};

int run(const Options& options) {
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
          .summary = "Tokenise text into a folder that data.train can name",
          .footer = example("alibi prepare configs/quickstart.json --output prepared/python"),
          .options = {config_files(options->configs),
                      {.name = "--output",
                       .meaning = "Folder to make; without it the user's cache folder",
                       .target = &options->output},
                      set_option(options->overrides)},
          .run = [options](const CommandLine&) { return run(*options); }};
}

}  // namespace alibi
