// alibi train: config in, run folder out.
#include <cmath>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "commands/run_files.h"
#include "commands/text_progress.h"
#include "commands/train_summary.h"
#include "config/load.h"
#include "config/validate.h"
#include "device/device.h"
#include "device/gemm_rate.h"
#include "device/memory.h"
#include "device/memory_limit.h"
#include "generate/generate.h"
#include "model/position.h"
#include "report/progress.h"
#include "report/table.h"
#include "train/memory_plan.h"
#include "train/trainer.h"

namespace alibi {
namespace {

constexpr std::int64_t kFewTokens = 10'000;  // losses of so many differ by some percent by chance

struct Options {
  std::vector<std::string> configs, overrides;
  bool resume = false;
  bool print_config = false;
};

// Turns the trainer's events into the live line and the lines between.
class Terminal {
 public:
  Terminal(const TrainPlan& plan, torch::Device device, std::int64_t first_step)
      : plan_(plan),
        device_(device),
        first_step_(first_step),
        start_(seconds_now()),
        line_(stderr) {}

  void operator()(const Event& event) {
    std::visit([this](const auto& e) { show(e); }, event);
  }

  void finish() { line_.finish(); }

 private:
  void show(const StepEvent& e) {
    // A mean over the last steps: single steps jump about.
    rate_ = rate_ <= 0 ? 1 / e.seconds : 0.9 * rate_ + 0.1 / e.seconds;
    const double tokens_per_second = rate_ * static_cast<double>(plan_.tokens_per_step);
    const double operations = tokens_per_second * plan_.operations_per_token;
    const double per_step = (seconds_now() - start_) / static_cast<double>(e.step - first_step_);
    line_.show({.step = e.step,
                .steps = plan_.steps,
                .tokens = e.tokens,
                .loss = e.loss,
                .learning_rate = e.learning_rate,
                .grad_norm = e.gradient_norm,
                .tokens_per_second = tokens_per_second,
                .gflops = operations / 1e9,
                .share_of_peak = operations / plan_.gemm_rate,
                .memory_bytes = device_.is_cuda() ? peak_memory_bytes(device_) : resident_bytes(),
                .eta_seconds = per_step * static_cast<double>(plan_.steps - e.step)});
    if (e.judgement.verdict == Verdict::kSkip)
      print(cat("step ", e.step, ": ", e.judgement.reason, "; step skipped"));
    if (e.rolled_back_to >= 0) {
      print(cat("step ", e.step, ": ", e.judgement.reason, "; rolled back to step ",
                e.rolled_back_to, ", its later batches are left out"));
    }
  }
  void show(const ValidationEvent& e) {
    print(cat("step ", e.step, "  validation loss ", fixed(e.loss, 4), "  perplexity ",
              fixed(std::exp(e.loss), 2), e.best ? "  (best so far)" : ""));
  }
  void show(const SaveEvent&) {}
  void show(const SaveFailedEvent& e) { print("warning: not saved: " + e.problem); }
  void show(const MicroBatchEvent& e) {
    print(cat("warning: step ", e.step,
              " does not fit into memory; from here on in micro batches of ", e.tokens, " tokens"));
  }

  void print(const std::string& text) {
    line_.interrupt();
    log_info(text);
  }

  TrainPlan plan_;
  torch::Device device_;
  std::int64_t first_step_;
  double start_;
  double rate_ = 0;
  ProgressLine line_;
};

PreparedText prepare(const Config& config, int threads) {
  TextProgress progress;
  PreparedText text = prepare_text(config.data, config.tokenizer, threads, progress.hooks());
  progress.finish();
  if (!text.from_cache) give_back_freed_memory();
  return text;
}

// Resolves what only this machine can tell: device and precision. A resumed run keeps its first
// answer.
torch::Device resolve_machine(Config& config, bool resume) {
  const torch::Device device = open_device(config.runtime.device);
  if (resume && config.runtime.precision == Precision::kAuto) {
    config.runtime.precision = stored_precision(config.run.folder).value_or(Precision::kAuto);
  }
  config.runtime.precision = resolve_precision(config.runtime.precision, device);
  return device;
}

// Another number of threads sums in another order: a resumed run keeps its own unless told
// otherwise.
void keep_threads(const Config& config, const Checkpoint& resume) {
  const std::int64_t before = resume.progress.threads;
  const std::int64_t now = config.runtime.threads > 0 ? config.runtime.threads : before;
  if (before == 0) return;
  const int here = set_threads(0);
  set_threads(now);
  if (now != before) {
    log_warning(cat("this run was started with ", before, " threads and goes on with ", now,
                    ": the last bits of its weights will not be those of an uninterrupted run"));
  } else if (now != here) {
    log_info(cat("note: ", now, " threads, as the run was started with; --set runtime.threads=",
                 here, " changes that, and the last bits of its weights"));
  }
}

// The micro batch that fits into memory, before any of it is taken. Throws Error when not even one
// sequence does.
std::int64_t plan_memory(const Config& config, const PreparedText& text, torch::Device device) {
  const std::int64_t vocabulary = text.tokenizer.vocabulary();
  const std::int64_t wanted = *config.batch.micro_batch_tokens;
  const MemoryLimit limit =
      config.runtime.memory_limit_bytes
          ? MemoryLimit{*config.runtime.memory_limit_bytes, "runtime.memory_limit_bytes"}
          : memory_limit(device);
  const std::int64_t fitting = fitting_micro_batch(config, vocabulary, limit.bytes);
  if (fitting == wanted) return wanted;
  const std::int64_t length = batch_shape(config.batch).length;
  const MemoryParts parts = estimate_memory(config, vocabulary, fitting > 0 ? wanted : length);
  const std::string found = cat(
      "an estimate of ", human_bytes(static_cast<double>(parts.total())), " (", describe_parts(parts),
      ") for micro batches of ", fitting > 0 ? wanted : length, " tokens, expected at most 8/9 of ",
      human_bytes(static_cast<double>(limit.bytes)), ", the ", limit.source);
  if (fitting > 0) {
    log_warning(cat("memory: ", found, "; taking micro batches of ", fitting,
                    " tokens (sums in another order: other last bits)"));
    return fitting;
  }
  throw Error("memory", found,
              "make the model, the vocabulary or the trained length smaller, set runtime.recompute "
              "to \"blocks\" or run.save_in_background to false; runtime.memory_limit_bytes "
              "overrules the limit");
}

std::string end_summary(Trainer& trainer, const RunFolder& folder, double seconds, int signal) {
  const Progress& p = trainer.progress();
  std::vector<std::pair<std::string, std::string>> pairs = {
      {signal == 0 ? "finished" : "stopped",
       cat("step ", p.step, " of ", trainer.total_steps(), ", ", with_commas(p.tokens), " tokens, ",
           human_seconds(seconds), " since it was started")}};
  if (std::isfinite(p.best_validation_loss)) {
    pairs.emplace_back("best",
                       cat("validation loss ", fixed(p.best_validation_loss, 4), ", perplexity ",
                           fixed(std::exp(p.best_validation_loss), 2), ", at step ", p.best_step));
  }
  if (p.skipped_steps > 0)
    pairs.emplace_back("skipped", cat(p.skipped_steps, " steps did not reach the weights"));
  pairs.emplace_back("written", folder.path().string());
  return format_pairs(pairs);
}

// Text after an end token, cut off where the model is large: a validation must not wait for it.
std::vector<std::string> samples_of(Gpt& model, const PreparedText& text, const Config& config,
                                    torch::Device device) {
  constexpr double kMostSeconds = 0.5;
  GenerateOptions options;
  options.tokens = std::min<std::int64_t>(80, batch_shape(config.batch).length - 1);
  options.sample.temperature = 0.8;
  options.end = text.tokenizer.end();
  options.never = text.tokenizer.specials();
  std::vector<std::string> samples;
  const double start = seconds_now();
  try {
    for (const std::uint64_t seed : {0, 1}) {
      options.sample.seed = seed;
      const auto made = generate(model, {options.end}, options, device, [&](std::int32_t) {
        return seconds_now() - start < kMostSeconds && stop_signal() == 0;
      });
      samples.push_back(text.tokenizer.decode(made));
    }
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
  }
  return samples;
}

RunPage page_of(const Config& config, Trainer& trainer, const TrainPlan& plan,
                torch::Device device) {
  const BatchShape shape = batch_shape(config.batch);
  return {.name = config.run.name,
          .updated = "",
          .alive = true,
          .total_tokens = plan.steps * plan.tokens_per_step,
          .settings = {{"positions", name_of(config.model.position)},
                       {"parameters", with_commas(trainer.model()->parameter_count())},
                       {"trained length", with_commas(shape.length)},
                       {"sequences a step", with_commas(shape.rows)},
                       {"device", device.str()},
                       {"seed", std::to_string(config.run.seed)}},
          .samples = {},
          .config_json = config_json(config)};
}

int run(const Options& options) {
  Config config = load_config(options.configs, options.overrides);
  check_attention_name(config.runtime.attention.kernel);
  if (options.print_config) {
    std::fputs(config_json(config).c_str(), stdout);
    return 0;
  }
  if (config.data.train.empty())
    throw usage_error("/data/train", "names no text", "--set 'data.train=[\"FILE\"]'");
  const torch::Device device = resolve_machine(config, options.resume);
  const int threads = set_threads(config.runtime.threads);
  if (config.runtime.recompute == Recompute::kBlocks) return_large_blocks();
  for (const std::string& note : advice(config)) log_info("note: " + note);
  RunFolder folder(config, options.resume);
  const auto resume = folder.resume_point(config);
  const PreparedText text = prepare(config, threads);
  if (resume) folder.refuse_other_text(*resume, text);
  if (resume) keep_threads(config, *resume);
  const std::int64_t most = plan_memory(config, text, device);
  std::unique_ptr<Terminal> terminal;
  std::unique_ptr<RunFiles> files;
  Trainer trainer({config, text, folder, device, most}, resume, [&](const Event& event) {
    (*terminal)(event);
    if (std::holds_alternative<StepEvent>(event)) files->step();
    if (std::holds_alternative<ValidationEvent>(event)) files->validation();
  });
  write_file_atomic(folder.path() / "config.json", config_json(config));
  const BatchShape shape = batch_shape(config.batch);
  const TrainPlan plan{
      .steps = trainer.total_steps(),
      .steps_left =
          trainer.progress().finished ? 0 : trainer.total_steps() - trainer.progress().step,
      .tokens_per_step = shape.tokens(),
      .gemm_rate = measure_gemm_rate(device, activation_type(config.runtime.precision),
                                     trainer.micro_batch_tokens(), config.model.width),
      .operations_per_token = training_operations(config, *trainer.model()),
      .parameters = trainer.model()->parameter_count(),
      .micro_batch_tokens = trainer.micro_batch_tokens()};
  log_info(start_summary(config, text, *trainer.model(), plan, device));
  if (const std::int64_t held = text.valid.size(); held > 0 && held < kFewTokens)
    log_info(cat("note: only ", held,
                 " tokens are held out: validation losses, and which is the "
                 "best, say little"));
  if (resume) log_info(cat("resuming after step ", resume->progress.step));
  if (options.resume && !resume)
    log_info(cat("nothing to resume in ", folder.path().string(), ": starting at step 0"));
  terminal = std::make_unique<Terminal>(plan, device, trainer.progress().step);
  files = std::make_unique<RunFiles>(folder.path(), page_of(config, trainer, plan, device), [&] {
    return samples_of(trainer.model(), text, config, device);
  });
  const double start = seconds_now();
  const int signal = trainer.run();
  terminal->finish();
  files->finish();
  log_info(end_summary(trainer, folder, seconds_now() - start, signal));
  if (signal == 0) return 0;
  log_info("saved; the same command with --resume goes on from here");
  return 128 + signal;
}

}  // namespace

Command train_command() {
  auto options = std::make_shared<Options>();
  return {.name = "train",
          .summary = "Train a model",
          .footer = example("alibi train configs/quickstart.json --set run.seed=1\n"
                            "File and folder names in a config are relative to the current "
                            "folder, not to the config's."),
          .options = {config_files(options->configs),
                      set_option(options->overrides),
                      {.name = "--resume",
                       .meaning = "Go on from the newest valid checkpoint of the run folder",
                       .target = &options->resume},
                      {.name = "--print-config",
                       .meaning = "Print the resolved config and leave",
                       .target = &options->print_config}},
          .run = [options](const CommandLine&) { return run(*options); }};
}

}  // namespace alibi
