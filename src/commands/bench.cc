// alibi bench: how fast the parts are on this machine.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "bench/attention.h"
#include "bench/gemm.h"
#include "bench/step.h"
#include "bench/tokenize.h"
#include "bench/traffic.h"
#include "checkpoint/load_model.h"
#include "commands/commands.h"
#include "commands/evaluation_text.h"
#include "config/load.h"
#include "device/device.h"
#include "model/gpt.h"

namespace alibi {
namespace {

struct Options {
  std::vector<std::string> configs, overrides, kernels = {"auto"};
  std::vector<std::string> texts;
  std::vector<std::int64_t> lengths = {256, 1024, 4096};
  std::int64_t tokens = 4096;
  std::string output, checkpoint;
  double seconds = 2;
  bool libtorch = true, traffic = false;
  std::vector<std::int64_t> fast_numbers = {4096, 16384, 65536};
};

Rounds rounds(const Options& options) {
  return {.warmup = 1, .least = 3, .seconds = options.seconds, .most = 1000};
}

int report(BenchRecord record, const Options& options, const Session& session,
           torch::Device device = torch::kCPU) {
  record.machine = describe_device(device);
  std::fputs(format_table(record.table).c_str(), stdout);
  for (const std::string& note : record.notes) std::fputs((note + "\n").c_str(), stdout);
  std::fputs((record.machine + "\n").c_str(), stdout);
  if (!options.output.empty())
    write_file_atomic(options.output, bench_json(record, session.command_line()));
  return 0;
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
  std::vector<AttentionInputs> layers;
  ForwardOptions options;
  options.attention_inputs = &layers;
  loaded.model->hidden(torch::tensor(last).view({shape.sequences, shape.length}), options);
  return std::move(layers[layers.size() / 2]);
}

int run_trained_attention(const Options& options, const Session& session) {
  if (!options.configs.empty())
    throw usage_error("CONFIG", "has no effect with --checkpoint", "the checkpoint holds its own");
  if (options.traffic)
    throw usage_error("--traffic", "has no effect with --checkpoint", "it counts, for any numbers");
  LoadedModel loaded = load_model(options.checkpoint, options.overrides);
  if (!loaded.device.is_cpu())
    throw usage_error("--checkpoint", "is measured on the CPU", "--set runtime.device=cpu");
  AttentionBench bench;
  bench.kernels = options.kernels;
  bench.skip = skip_rule(loaded.config.runtime.attention.skip);
  bench.with_libtorch = options.libtorch;
  bench.rounds = rounds(options);
  bench.cases =
      cases_of(options, loaded.config.model, activation_type(loaded.config.runtime.precision));
  std::int64_t tokens = 0;
  for (const AttentionCase& one : bench.cases)
    tokens = std::max(tokens, one.sequences * one.length);
  const EvaluationText text =
      read_evaluation_text(options.texts, loaded, {.window = tokens, .most = tokens});
  bench.inputs = [&](const AttentionCase& shape) {
    return inputs_of(loaded, text.sample.ids, shape);
  };
  BenchRecord record = bench_attention(bench);
  record.notes.push_back(
      cat("inputs: layer ", loaded.config.model.layers / 2 + 1, " of ", loaded.folder.string()));
  return report(std::move(record), options, session);
}

int run_attention(const Options& options, const Session& session) {
  if (!options.checkpoint.empty()) return run_trained_attention(options, session);
  if (!options.texts.empty())
    throw usage_error("--text", "has no effect without --checkpoint", "--checkpoint RUN");
  const Config config = load_config(options.configs, options.overrides);
  const torch::Device device = open_device(config.runtime.device);
  set_threads(config.runtime.threads);
  const ModelConfig& m = config.model;
  if (options.traffic) {
    return report(count_traffic(m.width / m.heads, options.lengths, options.fast_numbers), options,
                  session);
  }
  AttentionBench bench;
  bench.kernels = options.kernels;
  bench.skip = skip_rule(config.runtime.attention.skip);
  bench.with_libtorch = options.libtorch;
  bench.device = device;
  bench.rounds = rounds(options);
  bench.cases =
      cases_of(options, m, activation_type(resolve_precision(config.runtime.precision, device)));
  return report(bench_attention(bench), options, session, device);
}

int run_gemm(const Options& options, const Session& session) {
  const Config config = load_config(options.configs, options.overrides);
  set_threads(config.runtime.threads);
  const Precision precision = resolve_precision(config.runtime.precision, torch::kCPU);
  return report(bench_gemm({.model = config.model,
                            .vocabulary = config.tokenizer.vocabulary,
                            .tokens = options.tokens,
                            .type = activation_type(precision),
                            .rounds = rounds(options)}),
                options, session);
}

int run_tokenize(const Options& options, const Session& session) {
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
                options, session);
}

int run_step(const Options& options, const Session& session) {
  Config config = load_config(options.configs, options.overrides);
  set_threads(config.runtime.threads);
  const torch::Device device = open_device(config.runtime.device);
  config.runtime.precision = resolve_precision(config.runtime.precision, device);
  return report(bench_step({.config = config,
                            .vocabulary = config.tokenizer.vocabulary,
                            .lengths = options.lengths,
                            .tokens = options.tokens,
                            .device = device,
                            .rounds = rounds(options)}),
                options, session, device);
}

}  // namespace

void add_bench_command(CLI::App& app, Session& session) {
  CLI::App* bench = add_command(app, "bench", "Measure the parts on this machine",
                                "alibi bench attention --lengths 256,1024,4096");
  bench->require_subcommand(1);
  auto options = std::make_shared<Options>();
  const auto add_part = [&](const char* name, const char* summary, const char* example,
                            int (*what)(const Options&, const Session&)) {
    CLI::App* part = add_command(*bench, name, summary, example);
    part->add_option("CONFIG", options->configs, "Config files, merged left to right");
    add_set_option(*part, options->overrides);
    part->add_option("--output", options->output, "JSON file to write");
    part->add_option("--seconds", options->seconds, "Time for each row")->capture_default_str();
    part->callback([options, &session, what] {
      session.run = [=, &session] { return what(*options, session); };
    });
    return part;
  };
  CLI::App* gemm = add_part("gemm", "The matrix products of a model's training step",
                            "alibi bench gemm configs/quickstart.json", run_gemm);
  gemm->add_option("--tokens", options->tokens, "Tokens a step")->capture_default_str();
  CLI::App* tokenize =
      add_part("tokenize", "Text to token ids",
               "alibi bench tokenize --set tokenizer.kind=bytes --text README.md", run_tokenize);
  tokenize->add_option("--text", options->texts, "Text files or folders")
      ->required()
      ->allow_extra_args(false);
  CLI::App* step = add_part("step", "Whole training steps, and where their time goes",
                            "alibi bench step configs/quickstart.json --lengths 128", run_step);
  step->add_option("--lengths", options->lengths, "Sequence lengths")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  step->add_option("--tokens", options->tokens, "Tokens a step");
  CLI::App* attention = add_part(
      "attention", "Attention kernels beside LibTorch's attention with a mask",
      "alibi bench attention --set model.width=512 --lengths 256,1024,4096", run_attention);
  attention->add_option("--lengths", options->lengths, "Sequence lengths")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  attention->add_option("--tokens", options->tokens, "Tokens a call: sequences x length");
  attention->add_option("--kernels", options->kernels, "Kernels, or auto")->delimiter(',');
  attention->add_option("--checkpoint", options->checkpoint,
                        "Take q, k and v from this run's model, reading a text, instead of "
                        "standard normal ones");
  attention->add_option("--text", options->texts, "Text files or folders; else data.valid")
      ->allow_extra_args(false);
  attention->add_flag("--traffic", options->traffic,
                      "Count what the textbook algorithms move between fast and slow memory");
  attention->add_option("--fast-numbers", options->fast_numbers, "Sizes M of fast memory")
      ->needs("--traffic")
      ->delimiter(',');
  attention->add_flag("!--without-libtorch", options->libtorch, "Leave LibTorch out");
}

}  // namespace alibi
