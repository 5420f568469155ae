// alibi bench: how fast the parts are on this machine.
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/process_memory.h"
#include "base/strings.h"
#include "bench/bench.h"
#include "checkpoint/load_model.h"
#include "commands/commands.h"
#include "commands/evaluation_text.h"
#include "commands/found.h"
#include "config/key_pattern.h"
#include "config/load.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "model/gpt.h"
#include "model/hashed_keys.h"

namespace alibi {
namespace {

struct Options {
  std::vector<std::string> configs, overrides, kernels = {"auto"};
  std::vector<std::string> texts;
  std::vector<std::int64_t> lengths = {256, 1024, 4096};
  std::int64_t tokens = 4096;
  std::string output, checkpoint;
  double seconds = 2;
  bool libtorch = true, traffic = false, as_json = false;
  std::vector<std::int64_t> fast_numbers = {4096, 16384, 65536};
};

Rounds rounds(const Options& options) {
  return {.warmup = 1, .least = 3, .seconds = options.seconds, .most = 1000};
}

int report(BenchRecord record, const Options& options, const CommandLine& command_line,
           torch::Device device = torch::kCPU) {
  record.machine = describe_device(device);
  const Json json = bench_value(record, command_line.text());
  std::string text = format_table(record.table);
  for (const std::string& note : record.notes) text += note + "\n";
  const int code = print_found({text + record.machine + "\n", json}, options.as_json);
  if (!options.output.empty()) write_file_atomic(options.output, bench_json(json));
  return code;
}

// The shapes of --lengths for a model's heads.
std::vector<AttentionCase> cases_of(const Options& options, const ModelConfig& m,
                                    torch::ScalarType type) {
  return measured_cases({.heads = m.heads,
                         .key_value_heads = m.key_value_heads.value_or(m.heads),
                         .head_width = m.width / m.heads,
                         .type = type},
                        options.lengths, options.tokens);
}

// Queries, keys and values of the model's middle layer on a text's sample.
AttentionInputs inputs_of(LoadedModel& loaded, const std::vector<std::int32_t>& ids,
                          const AttentionCase& shape) {
  const torch::NoGradGuard guard;
  const std::int64_t count = shape.sequences * shape.length;
  const std::vector<std::int64_t> last(ids.end() - count, ids.end());
  std::optional<AttentionInputs> middle;
  std::int64_t layer = 0;
  ForwardOptions options;
  options.attention_inputs = [&](const AttentionInputs& inputs) {
    if (layer++ == loaded.config.model.layers / 2) middle = inputs;
  };
  read_windows(loaded, last, shape.sequences, options);
  return *std::move(middle);
}

void refuse_kernel(const std::vector<std::string>& overrides) {
  if (names_key(overrides, "runtime.attention.kernel"))
    throw usage_error("--set runtime.attention.kernel", "has no effect on bench attention",
                      "--kernels names what is measured");
}

int run_trained_attention(const Options& options, const CommandLine& command_line) {
  if (!options.configs.empty())
    throw usage_error("CONFIG", "has no effect with --checkpoint", "the checkpoint holds its own");
  if (options.traffic)
    throw usage_error("--traffic", "has no effect with --checkpoint", "it counts, for any numbers");
  allow_overrides(options.overrides, {"runtime"}, "has no effect on bench attention");
  refuse_kernel(options.overrides);
  LoadedModel loaded = load_model(options.checkpoint, options.overrides);
  if (!loaded.device.is_cpu())
    throw usage_error("--checkpoint", "is measured on the CPU", "--set runtime.device=cpu");
  AttentionBench bench;
  bench.kernels = options.kernels;
  bench.skip = loaded.config.runtime.attention.skip;
  bench.with_libtorch = options.libtorch;
  bench.rounds = rounds(options);
  bench.cases =
      cases_of(options, loaded.config.model, activation_type(loaded.config.runtime.precision));
  std::int64_t tokens = 0;
  for (const AttentionCase& one : bench.cases)
    tokens = std::max(tokens, one.sequences * one.length);
  const EvaluationText text =
      read_evaluation_text(options.texts, loaded, {.window = tokens, .most = tokens},
                           "give more text, or fewer --tokens");
  bench.inputs = [&](const AttentionCase& shape) {
    return inputs_of(loaded, text.sample.ids, shape);
  };
  BenchRecord record = bench_attention(bench);
  record.notes.push_back(
      cat("inputs: layer ", loaded.config.model.layers / 2 + 1, " of ", loaded.folder.string()));
  return report(std::move(record), options, command_line);
}

// From layer 0 at any length.
bool hides_nothing(const ModelConfig& m) {
  bool hides = hashed_keys(m, 0) != nullptr;
  for (std::int64_t head = 0; head < m.heads; ++head)
    hides = hides || !key_parts(m, 0, head).show_all();
  return !hides;
}

int run_attention(const Options& options, const CommandLine& command_line) {
  if (!options.checkpoint.empty()) return run_trained_attention(options, command_line);
  if (!options.texts.empty())
    throw usage_error("--text", "has no effect without --checkpoint", "--checkpoint RUN");
  refuse_kernel(options.overrides);
  const Config config = load_config(options.configs, options.overrides);
  const torch::Device device = open_device(config.runtime.device);
  set_threads(config.runtime.threads);
  const ModelConfig& m = config.model;
  if (m.position != Position::kAlibi)
    throw usage_error("/model/position",
                      "has no effect on bench attention, which draws numbers for linear biases",
                      "--checkpoint RUN takes a model's own");
  if (!m.attention_pattern.empty() && (options.traffic || hides_nothing(m)))
    throw usage_error("/model/attention_pattern",
                      options.traffic ? "has no effect with --traffic"
                                      : "hides nothing from layer 0, which is measured",
                      options.traffic ? "remove the key" : "give layer 0 the part");
  if (options.traffic) {
    return report(count_traffic(m.width / m.heads, options.lengths, options.fast_numbers), options,
                  command_line);
  }
  AttentionBench bench;
  bench.kernels = options.kernels;
  bench.skip = config.runtime.attention.skip;
  bench.with_libtorch = options.libtorch;
  bench.device = device;
  bench.rounds = rounds(options);
  bench.cases =
      cases_of(options, m, activation_type(resolve_precision(config.runtime.precision, device)));
  bench.inputs = [&](const AttentionCase& shape) {
    AttentionInputs inputs = make_attention_inputs(shape, 1);
    inputs.options.bias.slopes_H = torch::tensor(initial_slopes(m), torch::kFloat);
    inputs.options.scale = *m.attention_scale;
    return inputs;
  };
  bench.rules = [&](std::int64_t keys) { return key_rules(m, 0, keys); };
  bench.hashed = hashed_keys(m, 0);
  return report(bench_attention(bench), options, command_line, device);
}

int run_gemm(const Options& options, const CommandLine& command_line) {
  const Config config = load_config(options.configs, options.overrides);
  set_threads(config.runtime.threads);
  if (config.runtime.device == Device::kCuda)
    throw usage_error("/runtime/device",
                      "found \"cuda\", expected the CPU, on which products are "
                      "measured",
                      "bench step measures those of a device within its steps");
  const Precision precision = resolve_precision(config.runtime.precision, torch::kCPU);
  return report(bench_gemm({.model = config.model,
                            .vocabulary = config.tokenizer.vocabulary,
                            .tokens = options.tokens,
                            .type = activation_type(precision),
                            .rounds = rounds(options)}),
                options, command_line);
}

int run_tokenize(const Options& options, const CommandLine& command_line) {
  const Config config = load_config(options.configs, options.overrides);
  const TokenizerConfig& t = config.tokenizer;
  if (t.file.empty() && t.kind != TokenizerKind::kBytes) {
    throw usage_error("/tokenizer/file", "names no tokenizer",
                      "--set tokenizer.file=runs/NAME/checkpoints/STEP/tokenizer.model, or --set "
                      "tokenizer.kind=bytes");
  }
  const Tokenizer tokenizer =
      t.kind == TokenizerKind::kBytes ? Tokenizer::bytes() : Tokenizer::from_file(t.file);
  return report(bench_tokenize(options.texts, tokenizer, set_threads(config.runtime.threads),
                               rounds(options)),
                options, command_line);
}

int run_step(const Options& options, const CommandLine& command_line) {
  Config config = load_config(options.configs, options.overrides);
  set_threads(config.runtime.threads);
  const torch::Device device = open_device(config.runtime.device);
  config.runtime.precision = resolve_precision(config.runtime.precision, device);
  if (recomputes(config)) return_large_blocks();  // as training does
  return report(bench_step({.config = config,
                            .vocabulary = config.tokenizer.vocabulary,
                            .lengths = options.lengths,
                            .tokens = options.tokens,
                            .device = device,
                            .rounds = rounds(options)}),
                options, command_line, device);
}

// An earlier measurement is written anew; nothing else is.
void check_output(const std::string& file) {
  check_file_name(file, "--output");
  check_ending(file, ".json", "--output");
  if (!is_there(file)) return;
  std::vector<JsonFault> ignored;
  const auto found = parse_json(read_file(file), {.depth = 64}, ignored);
  const Json* kind = found ? found->find("kind") : nullptr;
  if (kind != nullptr && kind->as_string() != nullptr && *kind->as_string() == "bench") return;
  throw usage_error(file, "is there, and was not written by alibi bench",
                    "name another file, or move it away");
}

using Run = int (*)(const Options&, const CommandLine&);

// A part of `alibi bench` with the options that all have, then its own.
Command part(std::shared_ptr<Options> options, Run run, Command own) {
  std::vector<Option> all = {
      config_files(options->configs),
      set_option(options->overrides),
      {.name = "--output", .meaning = "JSON file to write", .target = &options->output},
      {.name = "--seconds",
       .meaning = "Time for each row",
       .target = &options->seconds,
       .shows_default = true,
       .range = OptionRange{0, 86400}},
      json_option(options->as_json)};
  all.insert(all.end(), own.options.begin(), own.options.end());
  own.options = std::move(all);
  own.run = [options, run](const CommandLine& line) {
    if (!options->output.empty()) check_output(options->output);
    return run(*options, line);
  };
  return own;
}

Option lengths_option(Options& options) {
  return {.name = "--lengths",
          .meaning = "Sequence lengths",
          .target = &options.lengths,
          .commas = true,
          .positive = true};
}

Command gemm_part(const std::shared_ptr<Options>& options) {
  return part(options, run_gemm,
              {.name = "gemm",
               .summary = "The matrix products of a model's training step",
               .footer = example("alibi bench gemm configs/quickstart.json"),
               .options = {{.name = "--tokens",
                            .meaning = "Tokens a step",
                            .target = &options->tokens,
                            .shows_default = true,
                            .positive = true}}});
}

Command tokenize_part(const std::shared_ptr<Options>& options) {
  return part(
      options, run_tokenize,
      {.name = "tokenize",
       .summary = "Text to token ids",
       .footer = example(
           "alibi bench tokenize --set tokenizer.kind=bytes --text data/default/valid.jsonl"),
       .options = {{.name = "--text",
                    .meaning = "Text files or folders",
                    .target = &options->texts,
                    .required = true,
                    .one_value = true}}});
}

Command step_part(const std::shared_ptr<Options>& options) {
  return part(options, run_step,
              {.name = "step",
               .summary = "Whole training steps, and where their time goes",
               .footer = example("alibi bench step configs/quickstart.json --lengths 128"),
               .options = {lengths_option(*options),
                           {.name = "--tokens",
                            .meaning = "Tokens a step",
                            .target = &options->tokens,
                            .positive = true}}});
}

Command attention_part(const std::shared_ptr<Options>& options) {
  return part(
      options, run_attention,
      {.name = "attention",
       .summary = "Attention kernels beside LibTorch's attention with a mask",
       .footer = example("alibi bench attention --set model.width=512 --lengths 256,1024,4096"),
       .options = {
           lengths_option(*options),
           {.name = "--tokens",
            .meaning = "Tokens a call: sequences x length",
            .target = &options->tokens,
            .positive = true},
           {.name = "--kernels",
            .meaning = "Kernels, or auto",
            .target = &options->kernels,
            .commas = true},
           {.name = "--checkpoint",
            .meaning = "Take q, k and v from this run's model, reading a text, instead of "
                       "standard normal ones",
            .target = &options->checkpoint},
           {.name = "--text",
            .meaning = "Text files or folders; else data.valid",
            .target = &options->texts,
            .one_value = true},
           {.name = "--traffic",
            .meaning = "Count what the textbook algorithms move between fast and slow memory",
            .target = &options->traffic},
           {.name = "--fast-numbers",
            .meaning = "Sizes of fast memory, in numbers",
            .target = &options->fast_numbers,
            .commas = true,
            .positive = true,
            .needs = "--traffic"},
           {.name = "!--without-libtorch",
            .meaning = "Leave LibTorch out",
            .target = &options->libtorch}}});
}

}  // namespace

Command bench_command() {
  const auto options = std::make_shared<Options>();
  return {.name = "bench",
          .summary = "Measure the parts on this machine",
          .footer = example("alibi bench attention --lengths 256,1024,4096"),
          .commands = {gemm_part(options), tokenize_part(options), step_part(options),
                       attention_part(options)}};
}

}  // namespace alibi
