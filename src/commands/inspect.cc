// alibi inspect: looks at one thing and prints it.
#include <array>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "commands/found.h"
#include "commands/inspect_attention.h"
#include "commands/inspect_memory.h"
#include "commands/inspect_model.h"
#include "commands/text_progress.h"
#include "config/lengths.h"
#include "config/load.h"
#include "data/prepare.h"
#include "device/device.h"
#include "report/plot.h"
#include "report/table.h"

namespace alibi {
namespace {

struct Options {
  std::vector<std::string> configs, overrides;
  std::string target, output;
  std::vector<std::string> texts, lengths = {"1x", "4x", "16x"};
  std::string limit, memory_lengths = "1x";
  std::int64_t length = 64;
  std::int64_t sample = 400;
  bool as_json = false;
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
  const std::vector<double> slopes = initial_slopes(config.model);
  if (slopes.empty()) {
    throw usage_error("/model/position",
                      cat("found ", name_of(config.model.position), ", expected alibi"),
                      "it shows slopes; others have none");
  }
  Found found{"", {}};
  std::string& text = found.text;
  Json heads = Json::list();
  const auto far = static_cast<double>(options.length - 1);
  for (std::size_t h = 0; h < slopes.size(); ++h) {
    heads.push_back({{"slope", slopes[h]}, {"bias", 0 - slopes[h] * far}});
    text += cat("head ", h + 1, "  slope ", significant(slopes[h], 6), "  bias at distance ",
                options.length - 1, ": ", significant(0 - slopes[h] * far, 6), "\n");
  }
  if (!options.output.empty()) {
    check_file_name(options.output, "--out");
    check_ending(options.output, ".svg");
    write_file_atomic(options.output, bias_svg(slopes, options.length));
    text += "written: " + options.output + "\n";
  }
  found.json = document("bias", {{"distance", options.length - 1}, {"heads", std::move(heads)}});
  return print_found(found, options.as_json);
}

// Bytes of a character that is cut, as sentencepiece writes them: "<0xE2>".
std::string whole_characters(const std::string& piece) {
  const bool whole = first_invalid_utf8(piece) == std::string::npos;
  std::string text;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    // A terminal obeys control characters.
    const bool is_shown = byte >= 0x80   ? whole
                          : byte >= 0x20 ? byte != 0x7F
                                         : c == '\n' || c == '\t';
    std::array<char, 8> number;
    std::snprintf(number.data(), number.size(), "<0x%02X>", byte);
    text += is_shown ? std::string(1, c) : number.data();
  }
  return text;
}

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
    pieces += ends ? "<end>" : whole_characters(decoder.next(id)) + "|";
    if (ends) decoder = StreamDecoder(tokenizer);
  }
  return pieces;
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
  const std::string prompts = text.train.target_count() < text.train.size()
                                  ? ", prompts between <prompt> and </prompt>"
                                  : "";
  Found found = describe_text(text);
  const std::string cut = cut_at_tokens(wide, text.tokenizer);
  found.text += cat("\nfirst ", wide.size(), " tokens, cut at |", prompts, ":\n", cut, "\n");
  found.json.append("first_tokens", cut);
  return print_found(found, options.as_json);
}

using Run = int (*)(const Options&, const CommandLine&);

// A part that prints figures.
Command part(const std::shared_ptr<Options>& options, Run run, Command own) {
  own.options.push_back(json_option(options->as_json));
  own.run = [options, run](const CommandLine& line) { return run(*options, line); };
  return own;
}

int inspect_model(const Options& o) {
  allow_overrides(o.overrides, {"model", "batch", "tokenizer", "optimizer"},
                  "has no effect on inspect model");
  return print_found(describe_model(load_config(o.configs, o.overrides)), o.as_json);
}

Command model_part(const std::shared_ptr<Options>& options) {
  return part(options, [](const Options& o, const CommandLine&) { return inspect_model(o); },
              {.name = "model",
               .summary = "Parameters, bytes, cache growth per token",
               .footer = example("alibi inspect model configs/quickstart.json"),
               .options = {config_files(options->configs), set_option(options->overrides)}});
}

// Bytes; 0 where nothing was given.
std::int64_t limit_of(const Options& o) {
  constexpr std::int64_t kLeast = 1'000'000;  // less is a forgotten unit
  if (o.limit.empty()) return 0;
  const auto bytes = parse_bytes(o.limit);
  if (bytes && *bytes >= kLeast) return *bytes;
  throw usage_error("--limit",
                    cat("found ", shown(o.limit), ", expected at least 1MB, with its unit"),
                    "write for example 12GiB or 500MB");
}

std::vector<std::int64_t> memory_lengths_of(const Options& o, const Config& config) {
  constexpr std::int64_t kMost = 1 << 24;
  const std::int64_t trained = batch_shape(config.batch).length;
  std::vector<std::int64_t> lengths;
  for (const std::string& text : split(o.memory_lengths, ',')) {
    const auto length = length_in_tokens(text, trained);
    if (!length || *length > kMost) {
      throw usage_error(
          "--lengths",
          cat("found ", shown(text), ", expected lengths up to ", with_commas(kMost),
              " such as 512, or multiples such as 4x of the trained length ", trained));
    }
    lengths.push_back(*length);
  }
  return lengths;
}

int inspect_memory(const Options& o) {
  const Config config = load_config(o.configs, o.overrides);
  return print_found(describe_memory(config, memory_lengths_of(o, config), limit_of(o)), o.as_json);
}

Command memory_part(const std::shared_ptr<Options>& options) {
  return part(
      options, [](const Options& o, const CommandLine&) { return inspect_memory(o); },
      {.name = "memory",
       .summary = "What training takes of memory, and the batch that fits",
       .footer = example("alibi inspect memory configs/quickstart.json --limit 12GiB "
                         "--lengths 64,128,1024"),
       .options = {
           config_files(options->configs),
           set_option(options->overrides),
           {.name = "--limit",
            .meaning = "Memory to fit into, such as 12GiB; default: what this machine "
                       "allows",
            .target = &options->limit},
           {.name = "--lengths",
            .meaning = "Trained lengths to list, for example 512,4096 or 1x,4x; default: 1x",
            .target = &options->memory_lengths}}});
}

Command bias_part(const std::shared_ptr<Options>& options) {
  return part(
      options, [](const Options& o, const CommandLine&) { return inspect_bias(o); },
      {.name = "bias",
       .summary = "Each head's slope and bias matrix",
       .footer = example("alibi inspect bias --set model.heads=8 --length 64 --out bias.svg"),
       .options = {config_files(options->configs),
                   set_option(options->overrides),
                   {.name = "--length",
                    .meaning = "Rows and columns of the matrix",
                    .target = &options->length,
                    .shows_default = true,
                    .range = {{2, 1 << 20}}},
                   {.name = "--out", .meaning = "SVG file to write", .target = &options->output}}});
}

Command data_part(const std::shared_ptr<Options>& options) {
  return part(options, [](const Options& o, const CommandLine&) { return inspect_data(o); },
              {.name = "data",
               .summary = "Statistics of the text and how it is cut into tokens",
               .footer = example("alibi inspect data configs/quickstart.json"),
               .options = {config_files(options->configs),
                           set_option(options->overrides),
                           {.name = "--tokens",
                            .meaning = "Tokens to show",
                            .target = &options->sample,
                            .shows_default = true,
                            .range = {{0, 1 << 20}}}}});
}

Option checkpoint_option(Options& options) {
  return {.name = "CHECKPOINT",
          .meaning = "Checkpoint or run folder",
          .target = &options.target,
          .required = true};
}

Command attention_part(const std::shared_ptr<Options>& options, const char* name) {
  return part(
      options,
      [](const Options& o, const CommandLine& line) {
        return print_found(
            describe_attention({o.target, o.texts, o.lengths, o.overrides, o.output}, line),
            o.as_json);
      },
      {.name = name,
       .summary = "How far each head of a trained model reaches, and a page to see it work",
       .footer = example("alibi inspect attention runs/quickstart --lengths 1x,4x,16x --out "
                         "attention.html"),
       .options = {checkpoint_option(*options),
                   {.name = "--text",
                    .meaning = "Text files; default: what the run held out",
                    .target = &options->texts,
                    .one_value = true},
                   {.name = "--lengths",
                    .meaning = "Lengths: 4x or 512",
                    .target = &options->lengths,
                    .commas = true},
                   set_option(options->overrides),
                   {.name = "--out",
                    .meaning = "Page to write: matrices, reach, and sliders for ALiBi's slopes",
                    .target = &options->output}}});
}

Command checkpoint_part(const std::shared_ptr<Options>& options) {
  return part(options,
              [](const Options& o, const CommandLine&) {
                return print_found(describe_checkpoint(o.target), o.as_json);
              },
              {.name = "checkpoint",
               .summary = "Progress and tensors of a checkpoint; verifies its checksums",
               .footer = example("alibi inspect checkpoint runs/quickstart"),
               .options = {checkpoint_option(*options)}});
}

int print_schema(const Options& o) {
  if (o.comparison) return print(comparison_schema());
  return print(o.markdown ? config_reference() : config_schema());
}

Command schema_part(const std::shared_ptr<Options>& options) {
  return {.name = "schema",
          .summary = "Every config key, as JSON Schema or Markdown",
          .footer = example("alibi inspect schema --markdown"),
          .options = {{.name = "--markdown",
                       .meaning = "As a Markdown page",
                       .target = &options->markdown},
                      {.name = "--comparison",
                       .meaning = "The schema of comparison files",
                       .target = &options->comparison,
                       .excludes = "--markdown"}},
          .run = [options](const CommandLine&) { return print_schema(*options); }};
}

}  // namespace

Command inspect_command() {
  const auto options = std::make_shared<Options>();
  Command lesson = attention_part(options, "lesson");  // its earlier name
  lesson.hidden = true;
  return {.name = "inspect",
          .summary = "Look at a model, bias, text, checkpoint or the config keys",
          .footer = example("alibi inspect bias --set model.heads=8 --length 64 --out bias.svg"),
          .commands = {model_part(options), memory_part(options), bias_part(options),
                       data_part(options), attention_part(options, "attention"), std::move(lesson),
                       checkpoint_part(options), schema_part(options)}};
}

}  // namespace alibi
