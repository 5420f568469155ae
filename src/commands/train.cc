// alibi train: config in, run folder out.
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/strings.h"
#include "base/version.h"
#include "commands/commands.h"
#include "commands/found.h"
#include "commands/ranks.h"
#include "commands/run_files.h"
#include "commands/text_progress.h"
#include "commands/train_summary.h"
#include "commands/train_terminal.h"
#include "config/lengths.h"
#include "config/load.h"
#include "config/validate.h"
#include "device/cuda_library.h"
#include "device/device.h"
#include "device/memory.h"
#include "distributed/device_exchange.h"
#include "evaluate/generate/generate.h"
#include "evaluate/protocol.h"
#include "model/linear_choice.h"
#include "report/table.h"
#include "train/due.h"
#include "train/log_sink.h"
#include "train/memory_plan.h"
#include "train/rank_check.h"
#include "train/resume.h"
#include "train/trainer.h"

namespace alibi {
namespace {

constexpr std::int64_t kFewTokens = 10'000;  // losses of so many differ by some percent by chance

struct Options {
  std::vector<std::string> configs, overrides;
  bool resume = false, print_config = false, as_json = false;
  std::string log_level = "info", progress;
  RanksOptions ranks;
};

// One rank of each machine prepares the text; the others find it in that machine's cache.
PreparedText prepare(const Config& config, int threads, World& world) {
  std::optional<PreparedText> text;
  const auto make = [&] {
    TextProgress progress;
    text = prepare_text(config.data, config.tokenizer, threads, progress.hooks());
    progress.finish();
    if (!text->from_cache) give_back_freed_memory();
  };
  world.while_others_wait([&] {
    if (world.local_rank() == 0) make();
  });
  world.while_others_wait([&] {
    if (!text) make();
  });
  return *std::move(text);
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

RunPage page_of(const Config& config, Trainer& trainer, torch::Device device) {
  const BatchShape shape = batch_shape(config.batch);
  return {.name = config.run.name,
          .updated = "",
          .state = RunState::kRunning,
          .total_tokens = total_steps(config) * shape.tokens(),
          .settings = {{"positions", name_of(config.model.position)},
                       {"parameters", with_commas(trainer.model()->parameter_count())},
                       {"trained length", with_commas(shape.length)},
                       {"a step", step_sequences_text(config.batch)},
                       {"device", device.str()},
                       {"seed", std::to_string(config.run.seed)}},
          .samples = {},
          .config_json = config_json(config)};
}

// "600 tokens are held out, too short for one window of 1,024"
std::string why_not_validated(const Config& config, const PreparedText& text) {
  const std::int64_t held = text.valid.size(), window = batch_shape(config.batch).length;
  if (held == 0) return "no text is held out";
  return cat(with_commas(held), " tokens are held out, ",
             held < window ? cat("too short for one window of ", with_commas(window))
                           : "none of them is a target (prompts are none)");
}

void refuse_patience(const Config& config, const PreparedText& text) {
  throw usage_error(
      "/run/patience",
      cat("is ", config.run.patience,
          ", but this run is never validated: ", why_not_validated(config, text)),
      "give more held-out text (data.valid, data.valid_fraction), or set run.patience=0");
}

void note_little_text(const Config& config, const PreparedText& text, const Trainer& trainer) {
  const std::int64_t held = text.valid.size();
  if (held == 0) return;
  if (!trainer.validates()) {
    log_info(cat("note: ", why_not_validated(config, text), ": this run is not validated"));
    return;
  }
  if (held >= kFewTokens) return;
  log_info(cat("note: only ", with_commas(held),
               " tokens are held out: validation losses, and which is the best, say little"));
}

// What check_sample refuses once the run is trained.
void note_no_window(const Config& config, const PreparedText& text) {
  const std::int64_t held = text.valid.size();
  if (held == 0 || config.evaluate.task != Task::kPerplexity) return;
  const std::int64_t longest =
      parse_lengths(config.evaluate.lengths, batch_shape(config.batch).length).back();
  if (held >= longest) return;
  log_info(cat("note: ", with_commas(held),
               " tokens are held out, the longest of evaluate.lengths takes ", with_commas(longest),
               ": alibi evaluate will refuse them (give more held-out text or shorter lengths)"));
}

// Trains with every sink attached; returns the signal that stopped it, or 0.
int train_and_write(const TrainerParts& parts, Trainer& trainer,
                    const std::optional<Checkpoint>& resume, bool as_json) {
  const Config& config = parts.config;
  LogSink log(config, parts.folder, resume);
  write_file_atomic(parts.folder.path() / "config.json", config_json(config));
  const TrainPlan plan = plan_training(config, trainer, parts);
  log_info(start_summary(config, parts.text, *trainer.model(), plan, parts.device));
  note_little_text(config, parts.text, trainer);
  note_no_window(config, parts.text);
  if (resume) log_info(cat("resuming after step ", resume->progress.step));
  TrainTerminal terminal(plan, parts.device, trainer.progress().step);
  RunFiles files(
      config,
      {.page = page_of(config, trainer, parts.device),
       .earlier = log.take_earlier(),
       .saved_step = resume ? std::optional(resume->progress.step) : std::nullopt,
       .samples = [&] { return samples_of(trainer.model(), parts.text, config, parts.device); }});
  const double start = seconds_now();
  const std::int64_t first_step = trainer.progress().step;
  int signal = 0;
  try {
    signal = trainer.run({&log, &terminal, &files});
    parts.world.leave();
  } catch (const Error& error) {
    parts.world.leave(error);  // first, or others think that it waits for them
    files.finish(RunState::kFailed);
    throw;
  } catch (...) {
    files.finish(RunState::kFailed);
    throw;
  }
  terminal.finish();
  files.finish(signal == 0 ? RunState::kFinished : RunState::kStopped);
  const TrainEnd end{config,
                     trainer.progress(),
                     parts.text.statistics.valid,
                     parts.text.valid.target_count() < parts.text.valid.size(),
                     seconds_now() - start,
                     peak_memory_bytes(parts.device),
                     signal};
  log_info(end_summary(end));
  if (const std::int64_t steps = trainer.progress().step - first_step; !parts.world.is_alone()) {
    const auto sent = static_cast<double>(parts.world.bytes_sent());
    log_info(cat("rank 0 sent ",
                 human_bytes(sent / static_cast<double>(std::max<std::int64_t>(1, steps))),
                 " a step"));
  }
  if (signal != 0) log_info("saved; the same command with --resume goes on from here");
  if (as_json) print_found({"", end_document(end)}, true);
  return signal;
}

struct Machine {
  torch::Device device;
  int threads;
};

void connect_devices(World& world, const torch::Device& device) {
  const bool cuda = device.is_cuda();
  const std::string reason =
      world.use_devices(device, cuda ? device_uuid(device.index()) : "cpu",
                        cuda ? open_nccl() : DeviceExchange{nullptr, "computes on the CPU"});
  if (device.is_cuda() && !reason.empty() && world.is_first())
    log_info(cat("note: ranks exchange gradients through the host: ", reason));
}

// Sets the deadline of run.train_seconds, counted from `start`, of which a resumed run has what it
// has not used yet; measures how many tokens those are where that is not known yet. `config` is
// parts.config.
void fit_into_budget(Config& config, TrainerParts& parts, const std::optional<Checkpoint>& resume,
                     double start) {
  constexpr std::int64_t kNoEnd = 1'000'000'000'000'000;
  const double seconds = *config.run.train_seconds;
  if (!config.run.train_tokens) {
    const Config open = with_train_tokens(config, kNoEnd);
    const TrainerParts probe_parts{open,         parts.text,  parts.folder,
                                   parts.device, parts.world, parts.most_micro_batch_tokens};
    Trainer trainer(probe_parts, std::nullopt);
    Pace pace = trainer.probe(std::clamp(seconds / 20, 0.5, 5.0));
    double samples = 0;  // seconds that a validation's take
    parts.world.while_others_wait([&] {
      if (!parts.world.is_first() || !trainer.validates()) return;
      const double before = seconds_now();
      samples_of(trainer.model(), parts.text, config, parts.device);
      samples = seconds_now() - before;
    });
    // Ranks began at different moments, and another count of tokens would be another run.
    const auto first =
        parts.world.gather(std::array{seconds - (seconds_now() - start), samples})[0];
    const double left = first[0];
    pace.validation += first[1];
    const std::int64_t tokens = tokens_within(config, pace, left);
    const bool free_cadence = !config.run.evaluate_every_tokens;
    const std::int64_t validations = validations_within(pace, left);
    if (free_cadence)
      config.run.evaluate_every_tokens = std::max<std::int64_t>(1, tokens / validations);
    config = with_train_tokens(config, tokens);
    parts.pace = pace;
    log_info(cat("budget: ", human_seconds(seconds), " (run.train_seconds); steps of ",
                 fixed(pace.step, 3), " s and validations of ", fixed(pace.validation, 2),
                 " s leave time for ", with_commas(tokens), " tokens",
                 free_cadence && validations < kDefaultValidations
                     ? cat(", validated ", validations, validations == 1 ? " time" : " times")
                     : ""));
  } else if (!resume) {
    log_info(cat("budget: ", human_seconds(seconds),
                 " (run.train_seconds), a deadline alone beside run.train_tokens; "
                 "run.train_tokens=null finds the tokens that fit"));
  }
  const double used = resume ? resume->progress.train_seconds : 0;
  if (used > 0) {
    log_info(cat("budget: ", human_seconds(used), " of ", human_seconds(seconds),
                 " (run.train_seconds) are used"));
  }
  parts.deadline = start + seconds - used;
}

// On every rank; returns the signal that stopped it, or 0.
int train(World& world, Config config, RunFolder& folder, const Options& options, Machine machine) {
  refuse_other_ranks(world, config, folder.path());
  std::optional<Checkpoint> resume;
  world.while_others_wait([&] { resume = folder.resume_point(config); });
  refuse_different(world, resume ? cat("step ", resume->progress.step) : "none",
                   "newest checkpoint", "start again once every machine sees the same files");
  if (!resume)  // they were said at its start
    for (const std::string& note : advice(config)) log_info("note: " + note);
  const PreparedText text = prepare(config, machine.threads, world);
  refuse_other_text(world, text);
  if (resume) {
    folder.refuse_other_text(*resume, text);
    resume_threads(config, *resume, world);
  } else if (options.resume) {
    log_info(cat("nothing to resume in ", folder.path().string(), ": starting at step 0"));
  }
  connect_devices(world, machine.device);
  const std::int64_t most =
      plan_micro_batch(config, text.tokenizer.vocabulary(), machine.device, world);
  const double start = seconds_now();
  if (!resume) {  // a run that goes on keeps what it has
    settle_linear_layers_as_first(world, config.runtime, [&](RuntimeConfig& runtime) {
      const std::string chosen = settle_linear_layers(
          runtime, config.model, text.tokenizer.vocabulary(), machine.device, most);
      if (!chosen.empty()) log_info(chosen);
    });
  }
  TrainerParts parts{config, text, folder, machine.device, world, most};
  if (config.run.train_seconds) fit_into_budget(config, parts, resume, start);
  Trainer trainer(parts, resume);
  if (config.run.patience > 0 && !trainer.validates()) refuse_patience(config, text);
  return world.is_first() ? train_and_write(parts, trainer, resume, options.as_json)
                          : trainer.run({});
}

int run(const Options& options, const CommandLine& line) {
  set_log_level(options.log_level);
  show_progress_as(options.progress);
  Config config = load_config(options.configs, options.overrides);
  check_attention_name(config.runtime.attention.kernel);
  if (options.print_config) {
    std::fputs(config_json(config).c_str(), stdout);
    return 0;
  }
  if (config.data.train.empty())
    throw usage_error("/data/train", "names no text", "--set 'data.train=[\"FILE\"]'");
  const WorldPlace place = place_of(options.ranks);
  resolve_machine(config, options.resume, place);
  if (recomputes(config)) return_large_blocks();
  RunFolder folder =
      place.rank == 0 ? RunFolder(config, options.resume) : RunFolder::read_only(config);
  if (place.rank == 0)
    open_log_file(folder.path() / "alibi.log");
  else
    set_log_level("warning");
  Ranks ranks(options.ranks, place, line, folder.path());
  const int signal = ranks.run([&](World& world) {
    const int threads = set_threads(threads_of_rank(config.runtime.threads, world));
    // Who shares a machine may be known only now.
    const torch::Device own = open_device(config.runtime.device, world.local_rank());
    log_debug(cat(line.text(), ": version ", kVersion, ", process ", ::getpid(), ", ", own.str(),
                  ", ", threads, " threads"));
    return train(world, config, folder, options, {own, threads});
  });
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace

Command train_command() {
  auto options = std::make_shared<Options>();
  return {.name = "train",
          .summary = "Train a model",
          .footer = example("alibi train configs/quickstart.json --set run.seed=1\n"
                            "File and folder names in a config are relative to the current "
                            "folder, not to the config's."),
          .options =
              with_ranks({config_files(options->configs),
                          set_option(options->overrides),
                          {.name = "--resume",
                           .meaning = "Go on from the newest valid checkpoint of the run folder",
                           .target = &options->resume},
                          {.name = "--print-config",
                           .meaning = "Print the resolved config and exit",
                           .target = &options->print_config},
                          {.name = "--log-level",
                           .meaning = "Least level of messages on the terminal; debug: with times",
                           .target = &options->log_level,
                           .shows_default = true,
                           .choices = {"debug", "info", "warning", "error"}},
                          json_option(options->as_json),
                          progress_option(options->progress)},
                         options->ranks),
          .run = [options](const CommandLine& line) { return run(*options, line); }};
}

}  // namespace alibi
