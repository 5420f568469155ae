// alibi inspect: looks at one thing and prints it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "commands/inspect_attention.h"
#include "commands/inspect_memory.h"
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
  std::string limit;
  std::vector<std::int64_t> memory_lengths;
  std::int64_t length = 64;
  std::int64_t sample = 400;
  bool markdown = false;
  bool comparison = false;
};

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int inspect_bias(const Options& options) {
  allow_overrides(options.overrides, {"model"}, "has no effect on inspect bias");
  const Config config = load_config(options.configs, options.overrides);
  if (config.model.position != Position::kAlibi) {
    throw usage_error("/model/position",
                      cat("found ", name_of(config.model.position), ", expected alibi"),
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
// Ids as they stand in prepared text: those of prompts are marked.
std::string cut_at_tokens(const std::vector<std::int64_t>& ids, const Tokenizer& tokenizer) {
  std::string pieces;
  StreamDecoder decoder(tokenizer);
  bool in_prompt = false;
  for (const std::int64_t stored : ids) {
    if (is_marked(stored) != in_prompt) pieces += in_prompt ? "</prompt>" : "<prompt>";
    in_prompt = is_marked(stored);
    const auto id = static_cast<std::int32_t>(unmarked(stored));
    const bool ends = id == tokenizer.end();
    pieces += ends ? "<end>" : decoder.next(id) + "|";
    if (ends) decoder = StreamDecoder(tokenizer);
  }
  return pieces;
}

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
  const std::string prompts =
      text.train.learned() < text.train.size() ? ", prompts between <prompt> and </prompt>" : "";
  return print(describe_text(text) + cat("\nfirst ", wide.size(), " tokens, cut at |", prompts,
                                         ":\n", cut_at_tokens(wide, text.tokenizer), "\n"));
}

AttentionView attention_view(const Options& o) {
  return {o.target, o.texts, o.lengths, o.overrides, o.output};
}

void add_config_options(CLI::App& command, Options& options) {
  command.add_option("CONFIG", options.configs, "Config files, merged left to right");
  add_set_option(command, options.overrides);
}

// What every part of `inspect` is made with.
struct Parts {
  CLI::App& inspect;
  Session& session;
  std::shared_ptr<Options> options = std::make_shared<Options>();

  CLI::App& add(const char* name, const char* summary, const char* example,
                int (*what)(const Options&, const Session&)) const {
    CLI::App* part = add_command(inspect, name, summary, example);
    part->callback([options = options, &session = session, what] {
      session.run = [options, &session, what] { return what(*options, session); };
    });
    return *part;
  }
};

void add_model_part(const Parts& parts) {
  CLI::App& part = parts.add("model", "Parameters, bytes, cache growth per token",
                             "alibi inspect model configs/quickstart.json",
                             [](const Options& o, const Session&) {
                               allow_overrides(o.overrides, {"model", "batch", "tokenizer"},
                                               "has no effect on inspect model");
                               return print(describe_model(load_config(o.configs, o.overrides), 0));
                             });
  add_config_options(part, *parts.options);
}

int inspect_memory(const Options& o) {
  std::int64_t limit = 0;
  if (!o.limit.empty()) {
    const auto bytes = parse_bytes(o.limit);
    if (!bytes)
      throw usage_error("--limit", "found \"" + o.limit + "\"", "write for example 12GiB or 500MB");
    limit = *bytes;
  }
  return print(describe_memory(load_config(o.configs, o.overrides), o.memory_lengths, limit));
}

void add_memory_part(const Parts& parts) {
  CLI::App& part = parts.add("memory", "What training takes of memory, and the batch that fits",
                             "alibi inspect memory configs/quickstart.json --limit 12GiB "
                             "--lengths 64,128,1024",
                             [](const Options& o, const Session&) { return inspect_memory(o); });
  add_config_options(part, *parts.options);
  part.add_option("--limit", parts.options->limit,
                  "Memory to fit into, such as 12GiB; default: what this machine allows");
  part.add_option("--lengths", parts.options->memory_lengths, "Trained lengths to list")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
}

void add_bias_part(const Parts& parts) {
  CLI::App& part = parts.add("bias", "Each head's slope and bias matrix",
                             "alibi inspect bias --set model.heads=8 --length 64 --out bias.svg",
                             [](const Options& o, const Session&) { return inspect_bias(o); });
  add_config_options(part, *parts.options);
  part.add_option("--length", parts.options->length, "Rows and columns of the matrix")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  part.add_option("--out", parts.options->output, "SVG file to write");
}

void add_data_part(const Parts& parts) {
  CLI::App& part = parts.add("data", "Statistics of the text and how it is cut into tokens",
                             "alibi inspect data configs/quickstart.json",
                             [](const Options& o, const Session&) { return inspect_data(o); });
  add_config_options(part, *parts.options);
  part.add_option("--tokens", parts.options->sample, "Tokens to show")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
}

void add_view_options(CLI::App& part, Options& options) {
  part.add_option("CHECKPOINT", options.target, "Checkpoint or run folder")->required();
  part.add_option("--text", options.texts, "Text files; default: what the run held out")
      ->allow_extra_args(false);
  part.add_option("--lengths", options.lengths, "Lengths: 4x or 512")->delimiter(',');
  add_set_option(part, options.overrides);
}

void add_attention_parts(const Parts& parts) {
  CLI::App& attention =
      parts.add("attention", "How far each head of a trained model reaches, and its matrices",
                "alibi inspect attention runs/quickstart --lengths 1x,4x,16x --out attention.html",
                [](const Options& o, const Session& session) {
                  return print(describe_attention(attention_view(o), session));
                });
  add_view_options(attention, *parts.options);
  attention.add_option("--out", parts.options->output, "Page to write");

  CLI::App& lesson = parts.add("lesson", "A page for teaching: click tokens, move slopes",
                               "alibi inspect lesson runs/quickstart --out lesson.html",
                               [](const Options& o, const Session& session) {
                                 return print(write_lesson(attention_view(o), session));
                               });
  add_view_options(lesson, *parts.options);
  lesson.add_option("--out", parts.options->output, "Page to write")->required();
}

void add_checkpoint_part(const Parts& parts) {
  parts
      .add("checkpoint", "Progress and tensors of a checkpoint; verifies its checksums",
           "alibi inspect checkpoint runs/quickstart",
           [](const Options& o, const Session&) { return print(describe_checkpoint(o.target)); })
      .add_option("CHECKPOINT", parts.options->target, "Checkpoint or run folder")
      ->required();
}

void add_schema_part(const Parts& parts) {
  CLI::App& part =
      parts.add("schema", "Every config key, as JSON Schema or Markdown",
                "alibi inspect schema --markdown", [](const Options& o, const Session&) {
                  if (o.comparison) return print(comparison_schema());
                  return print(o.markdown ? config_reference() : config_schema());
                });
  CLI::Option* markdown =
      part.add_flag("--markdown", parts.options->markdown, "A page for people instead");
  part.add_flag("--comparison", parts.options->comparison, "Of files for alibi compare")
      ->excludes(markdown);
}

}  // namespace

void add_inspect_command(CLI::App& app, Session& session) {
  CLI::App* inspect =
      add_command(app, "inspect", "Look at a model, bias, text, checkpoint or the config keys",
                  "alibi inspect bias --set model.heads=8 --length 64 --out bias.svg");
  inspect->require_subcommand(1);
  const Parts parts{*inspect, session};
  add_model_part(parts);
  add_memory_part(parts);
  add_bias_part(parts);
  add_data_part(parts);
  add_attention_parts(parts);
  add_checkpoint_part(parts);
  add_schema_part(parts);
}

}  // namespace alibi
