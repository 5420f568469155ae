// alibi inspect: looks at one thing and prints it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "commands/inspect_attention.h"
#include "commands/inspect_model.h"
#include "commands/text_progress.h"
#include "config/load.h"
#include "data/prepare.h"
#include "device/device.h"
#include "model/position.h"
#include "report/plot.h"

namespace alibi {
namespace {

struct Options {
  std::vector<std::string> configs, overrides;
  std::string target, output;
  std::vector<std::string> texts, lengths = {"1x", "4x", "16x"};
  std::int64_t length = 64;
  std::int64_t sample = 400;
  bool markdown = false;
};

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int inspect_bias(const Options& options) {
  allow_overrides(options.overrides, {"model"}, "has no effect on inspect bias");
  const Config config = load_config(options.configs, options.overrides);
  if (config.model.position != Position::kAlibi) {
    throw usage_error(
        "/model/position",
        cat("found ", position_traits(config.model.position).name, ", expected alibi"),
        "only ALiBi's bias is known before training");
  }
  const std::vector<double> slopes = alibi_slopes(config.model);
  std::string text;
  for (std::size_t h = 0; h < slopes.size(); ++h) {
    text += cat("head ", h + 1, "  slope ", significant(slopes[h], 6), "  bias at distance ",
                options.length - 1, ": ",
                significant(-slopes[h] * static_cast<double>(options.length - 1), 6), "\n");
  }
  if (!options.output.empty()) {
    write_file_atomic(options.output, bias_svg(alibi_bias_plot(slopes, options.length)));
    text += "written: " + options.output + "\n";
  }
  return print(text);
}

// Statistics of the text and the start of it, as the tokenizer cuts it.
int inspect_data(const Options& options) {
  allow_overrides(options.overrides, {"data", "tokenizer", "runtime.threads"},
                  "has no effect on inspect data");
  const Config config = load_config(options.configs, options.overrides);
  if (config.data.train.empty())
    throw usage_error("/data/train", "names no text", "--set 'data.train=[\"FILE\"]'");
  TextProgress progress;
  const PreparedText text = prepare_text(config.data, config.tokenizer,
                                         set_threads(config.runtime.threads), progress.hooks());
  progress.finish();
  std::vector<std::int64_t> wide(
      static_cast<std::size_t>(std::min(options.sample, text.train.size())));
  text.train.read(0, wide);
  const std::vector<std::int32_t> ids(wide.begin(), wide.end());
  std::string pieces;
  StreamDecoder decoder(text.tokenizer);
  for (const std::int32_t id : ids) {
    const std::string piece = decoder.next(id);
    pieces += id == Tokenizer::kEnd ? "<end>" : piece + "|";
    if (id == Tokenizer::kEnd) decoder = StreamDecoder(text.tokenizer);
  }
  return print(describe_text(text) + cat("\nfirst ", ids.size(), " tokens, cut at |:\n") + pieces +
               "\n");
}

CLI::App* add_part(CLI::App& inspect, const char* name, const char* summary, const char* example) {
  return add_command(inspect, name, summary, example);
}

void add_config_options(CLI::App& command, Options& options) {
  command.add_option("CONFIG", options.configs, "Config files, merged left to right");
  add_set_option(command, options.overrides);
}

}  // namespace

void add_inspect_command(CLI::App& app, Session& session) {
  CLI::App* inspect =
      add_command(app, "inspect", "Look at a model, bias, text, checkpoint or the config keys",
                  "alibi inspect bias --set model.heads=8 --length 64 --out bias.svg");
  inspect->require_subcommand(1);
  auto options = std::make_shared<Options>();
  const auto when_named = [options, &session](CLI::App* part, int (*what)(const Options&)) {
    part->callback(
        [options, &session, what] { session.run = [options, what] { return what(*options); }; });
  };

  CLI::App* model = add_part(*inspect, "model", "Parameters, bytes, cache growth per token",
                             "alibi inspect model configs/quickstart.json");
  add_config_options(*model, *options);
  when_named(model, [](const Options& o) {
    allow_overrides(o.overrides, {"model", "batch", "tokenizer"}, "has no effect on inspect model");
    return print(describe_model(load_config(o.configs, o.overrides), 0));
  });

  CLI::App* bias = add_part(*inspect, "bias", "Each head's slope and bias matrix",
                            "alibi inspect bias --set model.heads=8 --length 64 --out bias.svg");
  add_config_options(*bias, *options);
  bias->add_option("--length", options->length, "Rows and columns of the matrix")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  bias->add_option("--out", options->output, "SVG file to write");
  when_named(bias, inspect_bias);

  CLI::App* data =
      add_part(*inspect, "data", "Statistics of the text and how it is cut into tokens",
               "alibi inspect data configs/quickstart.json");
  add_config_options(*data, *options);
  data->add_option("--tokens", options->sample, "Tokens to show")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  when_named(data, inspect_data);

  CLI::App* attention =
      add_part(*inspect, "attention", "How far each head of a trained model reaches",
               "alibi inspect attention runs/quickstart --lengths 1x,4x,16x");
  attention->add_option("CHECKPOINT", options->target, "Checkpoint or run folder")->required();
  attention->add_option("--text", options->texts, "Text files; default: what the run held out")
      ->allow_extra_args(false);
  attention->add_option("--lengths", options->lengths, "Lengths: 4x or 512")->delimiter(',');
  add_set_option(*attention, options->overrides);
  when_named(attention, [](const Options& o) {
    return print(describe_attention({o.target, o.texts, o.lengths, o.overrides}));
  });

  CLI::App* checkpoint = add_part(*inspect, "checkpoint",
                                  "Progress and tensors of a checkpoint; verifies its checksums",
                                  "alibi inspect checkpoint runs/quickstart");
  checkpoint->add_option("CHECKPOINT", options->target, "Checkpoint or run folder")->required();
  when_named(checkpoint, [](const Options& o) { return print(describe_checkpoint(o.target)); });

  CLI::App* schema = add_part(*inspect, "schema", "Every config key, as JSON Schema or Markdown",
                              "alibi inspect schema --markdown");
  schema->add_flag("--markdown", options->markdown, "A page for people instead");
  when_named(schema, [](const Options& o) {
    return print(o.markdown ? config_reference() : config_schema());
  });
}

}  // namespace alibi
