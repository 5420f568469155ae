#include "experiment/runner.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <thread>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/process.h"
#include "base/stop.h"
#include "base/strings.h"
#include "base/version.h"
#include "checkpoint/checkpoint.h"
#include "config/protocols.h"
#include "experiment/describe.h"
#include "experiment/measured.h"
#include "experiment/paired.h"
#include "report/curve_files.h"
#include "train/due.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTextChanged = "a file of the text changed while the comparison ran; ";
constexpr double kLook = 0.5;  // seconds between two looks at a process

std::uint64_t size_of(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) ? fs::file_size(file, ignored) : 0;
}

// Why a process failed: what ended it, and the last line that it printed behind `from` bytes of the
// log.
std::string why_failed(int code, const fs::path& log, std::uint64_t from) {
  const std::string text = read_file(log);
  std::vector<std::string> lines =
      split(text.substr(std::min<std::size_t>(from, text.size())), '\n');
  std::erase(lines, "");
  const std::string last = lines.empty() ? "it printed nothing" : lines.back();
  if (code == kUnknownEnd) return "its exit code is unknown; its last line: " + last;
  if (code == 128 + SIGKILL)
    return cat("killed by signal 9, as the system does where memory runs out; its last line: ",
               last);
  return last;
}

template <class Number>
std::string number_or_null(const std::optional<Number>& value) {
  if (!value) return "null";
  if constexpr (std::is_same_v<Number, double>)
    return shown(*value);
  else
    return cat(*value);
}

std::vector<std::string> as_options(const std::vector<std::string>& sets) {
  std::vector<std::string> all;
  for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
  return all;
}

// All that decides a curve, as overrides: a run's own config may differ by now.
std::vector<std::string> protocol_arguments(const Config& config) {
  const EvaluateConfig& e = config.evaluate;
  std::vector<std::string> sets = {
      "evaluate.task=perplexity",
      cat("evaluate.protocol=", name_of(e.protocol)),
      cat("evaluate.stride=", number_or_null(e.stride)),
      cat("evaluate.split_stride=", number_or_null(e.split_stride)),
      cat("evaluate.far_context_tokens=", e.far_context_tokens),
      cat("evaluate.max_tokens=", e.max_tokens),
      cat("evaluate.batch_tokens=", e.batch_tokens),
      cat("evaluate.stretch=", name_of(e.stretch)),
      cat("evaluate.stretch_factor=", number_or_null(e.stretch_factor)),
      cat("runtime.attention.kernel=", config.runtime.attention.kernel)};
  if (protocol_row(e.protocol).streams) sets.push_back(cat("evaluate.sinks=", e.sinks));
  if (const KeyTokensConfig& k = e.key_tokens; !k.evaluator.empty()) {
    const std::pair<const char*, std::string> keys[] = {
        {"evaluator", write_json(k.evaluator)},
        {"short_length", number_or_null(k.short_length)},
        {"long_length", number_or_null(k.long_length)},
        {"least_gain", write_json(k.least_gain)},
        {"most_loss", write_json(k.most_loss)}};
    for (const auto& [key, value] : keys)
      sets.push_back(cat("evaluate.key_tokens.", key, "=", value));
  }
  return as_options(sets);
}

// The weights, or the list, by which key tokens are chosen; empty where they are not asked for.
std::string evaluator_hash(const Config& config) {
  const std::string& evaluator = config.evaluate.key_tokens.evaluator;
  if (names_key_token_list(evaluator)) return sha256_file(evaluator);
  return evaluator.empty() ? "" : sha256_file(resolve_checkpoint(evaluator) / "manifest.json");
}

// All that decides answers but their lengths.
std::vector<std::string> task_arguments(const Config& config, const PlannedTask& task) {
  const EvaluateConfig& e = config.evaluate;
  // The task's own keys come last: what they leave without effect is not said.
  const bool stretches =
      parse_config(config_json(config), task.name, task.overrides).evaluate.stretch !=
      Stretch::kNone;
  std::vector<std::string> sets = {
      cat("evaluate.batch_tokens=", e.batch_tokens), cat("evaluate.stretch=", name_of(e.stretch)),
      cat("evaluate.stretch_factor=", stretches ? number_or_null(e.stretch_factor) : "null"),
      cat("runtime.attention.kernel=", config.runtime.attention.kernel)};
  if (task.reads_text) sets.push_back(cat("evaluate.max_tokens=", e.max_tokens));
  sets.insert(sets.end(), task.overrides.begin(), task.overrides.end());
  return as_options(sets);
}

// Where a curve is measured: by this comparison's config, not the run's own.
std::vector<std::string> place_arguments(const Config& config) {
  return as_options({cat("runtime.device=", name_of(config.runtime.device)),
                     cat("runtime.threads=", config.runtime.threads)});
}

ComparedRun not_made(const ExperimentPlan& plan, std::size_t index) {
  const PlannedRun& planned = plan.runs[index];
  ComparedRun run;
  run.variant = plan.variants[planned.variant].name;
  run.seed = planned.seed;
  run.folder = planned.config.run.folder;
  return run;
}

class Runner {
 public:
  Runner(const ExperimentPlan& plan, std::string program, const RunnerHooks& hooks)
      : plan_(plan), program_(std::move(program)), hooks_(hooks) {}

  // One that fails has no figures at all: half of them would stand beside whole ones. Throws
  // LockHeld while another process does the run's job, unless others start from it, and
  // stopped_error.
  ComparedRun run(std::size_t index) {
    const PlannedRun& planned = plan_.runs[index];
    const FileLock lock = lock_of(planned.trained);
    ComparedRun result = not_made(plan_, index);
    try {
      result.failure = make(index, result);
    } catch (const Error& error) {  // a damaged file of one run leaves the others
      if (stop_signal() != 0) throw;
      result.failure = error.what();
    }
    if (result.failure.empty()) return result;
    ComparedRun failed = not_made(plan_, index);
    failed.failure = std::move(result.failure);
    return failed;
  }

  // Names of runs that any device may make are those of a processor's.
  std::string why_not_ours(const PlannedRun& planned, const KeptRun& kept) const {
    const std::string& device = kept.curves.protocol.device;
    if (plan_.file.any_device || device.starts_with("cuda") == planned.cuda) return {};
    return cat("its figures in ", kept_folder(planned).string(), " are of ", device,
               ": say \"any_device\": true, or name another \"measured\"");
  }

  // Its figures, and what describes them.
  ComparedRun taken_from(KeptRun& kept, ComparedRun run) {
    kept.run.variant = run.variant;
    kept.run.seed = run.seed;
    kept.run.folder = run.folder;
    measured_ = std::move(kept.curves);
    asked_ = std::move(kept.answers);
    note_units();
    return std::move(kept.run);
  }

  const CurveSet& measured() const { return measured_; }  // protocol and text of the last run
  const std::map<std::string, std::string>& units() const { return units_; }  // of tasks' sizes

  // Trained and measured.
  bool is_done(std::size_t index) const {
    const PlannedRun& run = plan_.runs[index];
    if (has_kept_run(kept_folder(run))) return true;
    if (!fs::exists(usage_file(run))) return false;
    const auto checkpoint = newest_valid_checkpoint(checkpoints(run));
    return checkpoint && fs::exists(curve_folder(run, *checkpoint) / "curve.json") &&
           std::ranges::all_of(plan_.tasks, [&](const PlannedTask& task) {
             return fs::exists(answers_folder(run, *checkpoint, task) / "answers.json");
           });
  }

 private:
  // Takes what is kept of a run, or trains and measures it. Returns why it failed, or nothing.
  std::string make(std::size_t index, ComparedRun& result) {
    const PlannedRun& planned = plan_.runs[index];
    KeptRun kept;
    if (read_kept(kept_folder(planned), kept)) {
      const std::string why = why_not_ours(planned, kept);
      if (why.empty()) result = taken_from(kept, std::move(result));
      return why;
    }
    asked_.clear();
    std::string why = train(index);
    if (why.empty()) why = measure(index, result.curve);
    if (why.empty()) why = ask(index, result.answers);
    if (!why.empty()) return why;
    add_cost(planned, result);
    if (!ran_out_of_memory(result))
      keep_run(kept_folder(planned), task_names(), {result, measured_, asked_});
    return {};
  }

  // What is damaged is not made again unasked: it may be all that is left of hours.
  bool read_kept(const fs::path& folder, KeptRun& kept) const {
    try {
      return read_kept_run(folder, task_names(), kept);
    } catch (const Error& error) {
      throw Error("its kept figures are damaged", error.what(),
                  cat("put back or remove ", folder.string(), ": then the run is made anew"));
    }
  }

  static void add_cost(const PlannedRun& planned, ComparedRun& result) {
    const Usage usage = read_usage(usage_file(planned));
    const TrainingTotals steps =
        training_totals(read_run_log(fs::path(result.folder) / "log.jsonl"));
    // The usage of a killed process is not recorded; the times of its logged steps are.
    result.train_seconds = std::max(usage.seconds, steps.seconds);
    result.peak_memory_bytes =
        steps.peak_memory_bytes > 0 ? steps.peak_memory_bytes : usage.peak_memory_bytes;
    result.train_tokens_per_second = steps.tokens_per_second;
    result.train_targets = steps.tokens;
  }

  static fs::path usage_file(const PlannedRun& run) {
    return fs::path(run.config.run.folder) / kUsageFile;
  }
  static fs::path checkpoints(const PlannedRun& run) {
    return fs::path(run.config.run.folder) / "checkpoints";
  }
  fs::path log_file(const PlannedRun& run) const {
    return plan_.folder / "logs" / (run.name + ".txt");
  }

  // Returns why it failed, or nothing.
  std::string train(std::size_t index) {
    const PlannedRun& run = plan_.runs[index];
    std::error_code ignored;
    if (fs::exists(usage_file(run), ignored)) return {};
    Config training = run.config;
    if (!run.source.empty()) {
      if (const auto begun = newest_valid_checkpoint(checkpoints(run))) {
        // It has its weights, and a name for where they came from.
        training.initialize.from =
            parse_config(checkpoint_config(*begun), begun->string()).initialize.from;
      } else if (const std::string why = train_source(run); !why.empty()) {
        return cat("its source ", run.source, ": ", why);
      }
    }
    const fs::path config = plan_.folder / "configs" / (run.trained + ".json");
    write_file_atomic(config, config_json(training));
    const fs::path log = fs::path(run.config.run.folder) / "log.jsonl";
    const fs::path partial = plan_.folder / "logs" / (run.trained + ".usage.json");
    const bool goes_on = fs::exists(run.config.run.folder, ignored);
    Usage usage = goes_on && fs::exists(partial, ignored) ? read_usage(partial) : Usage{};
    const auto look = [&] {
      // How many tokens fit into run.train_seconds the run itself finds.
      if (!hooks_.progress || !run.config.run.train_tokens || !fs::exists(log, ignored)) return;
      const std::int64_t all = total_steps(run.config) * batch_shape(run.config.batch).tokens();
      hooks_.progress({index, "training", static_cast<double>(read_logged_tokens(log)),
                       static_cast<double>(all)});
    };
    const auto [result, why] = call(run, {"train", config.string(), "--resume"}, look);
    usage.seconds += result.seconds;
    usage.peak_memory_bytes = std::max(usage.peak_memory_bytes, result.peak_memory_bytes);
    write_file_atomic(result.code == 0 ? usage_file(run) : partial, usage_json(usage));
    if (stop_signal() != 0) throw_stopped();
    if (result.code != 0) return "training: " + why;
    fs::remove(partial, ignored);
    if (hooks_.finished) hooks_.finished(index, "trained in " + human_seconds(usage.seconds));
    return {};
  }

  // The run whose weights this one starts from; where another process trains it, waits for that.
  std::string train_source(const PlannedRun& run) {
    const auto source = std::ranges::find(plan_.runs, run.source, &PlannedRun::trained);
    const FileLock lock = lock_of(run.source);
    const std::string why = train(static_cast<std::size_t>(source - plan_.runs.begin()));
    return why.empty() ? why_not_whole(*source, newest_valid_checkpoint(checkpoints(*source)))
                       : why;
  }

  // Of a run that others start from, who holds it may only train it for one of them: it is waited
  // for.
  FileLock lock_of(const std::string& trained) const {
    const fs::path file = plan_.folder / "locks" / trained;
    const bool waits =
        std::ranges::find(plan_.runs, trained, &PlannedRun::source) != plan_.runs.end();
    for (bool told = false;; told = true) {
      try {
        return FileLock(file, "run " + trained);
      } catch (const LockHeld&) {
        if (!waits) throw;
        if (stop_signal() != 0) throw_stopped();
        if (!told) log_info(cat("waiting for run ", trained, ", which another process makes"));
        std::this_thread::sleep_for(std::chrono::duration<double>(kLook));
      }
    }
  }

  std::string measure(std::size_t index, Curve& curve) {
    const PlannedRun& run = plan_.runs[index];
    const auto checkpoint = newest_valid_checkpoint(checkpoints(run));
    const std::string not_whole = why_not_whole(run, checkpoint);
    if (!not_whole.empty()) return "measuring: " + not_whole;
    const fs::path folder = curve_folder(run, *checkpoint);
    const fs::path file = folder / "curve.json";
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
      std::vector<std::string> rules;
      for (const std::string& text : plan_.file.text) rules.insert(rules.end(), {"--text", text});
      const auto protocol = protocol_arguments(run.config);
      rules.insert(rules.end(), protocol.begin(), protocol.end());
      // A run keeps what it was trained with; no part of the key, which says that there is none.
      if (run.config.evaluate.key_tokens.evaluator.empty()) {
        for (const char* key :
             {"evaluator", "short_length", "long_length", "least_gain", "most_loss"})
          rules.insert(rules.end(), {"--set", cat("evaluate.key_tokens.", key, "=null")});
      }
      const std::string why = evaluate(index, "measuring", plan_.lengths, rules, folder);
      if (!why.empty()) return why;
    }
    measured_ = parse_curves(read_file(file), file.string());
    if (measured_.text.sha256 != plan_.variants[run.variant].text.hash) {
      fs::remove(file, ignored);
      return cat("measuring: ", kTextChanged, "start again");
    }
    curve = only_curve(measured_, file);
    if (ran_out_of_memory(curve)) fs::remove(file, ignored);
    return {};
  }

  // What the plan did not ask for must not be kept under its name. `checkpoint`: the newest valid
  // one of a run that is marked as trained.
  std::string why_not_whole(const PlannedRun& run,
                            const std::optional<fs::path>& checkpoint) const {
    const std::string& folder = run.config.run.folder;
    if (!checkpoint) {
      return cat(folder, " is marked as trained but holds no whole checkpoint; remove that folder");
    }
    const fs::path file = *checkpoint / "progress.json";
    const ProgressFile found = parse_progress(read_file(file), file.string());
    if (found.data_hash != plan_.variants[run.variant].data_hash)
      return cat(kTextChanged, "remove ", folder, " and start again");
    if (found.progress.finished) return {};
    return cat(folder, " is marked as trained, but its newest whole checkpoint is of step ",
               found.progress.step, ", before the end; remove that folder");
  }

  // Runs `alibi evaluate` into a folder, by these arguments too; returns why it failed, or nothing.
  std::string evaluate(std::size_t index, const std::string& doing,
                       const std::vector<std::int64_t>& lengths,
                       const std::vector<std::string>& rules, const fs::path& folder) {
    const PlannedRun& run = plan_.runs[index];
    std::vector<std::string> arguments{
        "evaluate",   run.config.run.folder,      "--name",   plan_.variants[run.variant].name,
        "--lengths",  lengths_text(lengths, ","), "--output", folder.string(),
        "--overwrite"};
    for (const auto& more : {rules, place_arguments(run.config)})
      arguments.insert(arguments.end(), more.begin(), more.end());
    if (hooks_.progress) hooks_.progress({index, doing, 0, 0});
    const auto [result, why] = call(run, arguments, [] {});
    if (stop_signal() != 0) throw_stopped();
    return result.code == 0 ? "" : cat(doing, ": ", why);
  }

  // The answers to every task.
  std::string ask(std::size_t index, std::vector<AnswersResult>& answers) {
    const PlannedRun& run = plan_.runs[index];
    const fs::path checkpoint = *newest_valid_checkpoint(checkpoints(run));  // measured before
    for (const PlannedTask& task : plan_.tasks) {
      const fs::path folder = answers_folder(run, checkpoint, task);
      const fs::path file = folder / "answers.json";
      std::error_code ignored;
      if (!fs::exists(file, ignored)) {
        auto rules = task_arguments(run.config, task);
        for (const std::string& text :
             task.reads_text ? plan_.file.text : std::vector<std::string>())
          rules.insert(rules.end(), {"--text", text});
        const std::string why = evaluate(index, "asking " + task.name, task.lengths, rules, folder);
        if (!why.empty()) return why;
      }
      const AnswersSet set = parse_answers(read_file(file), file.string());
      answers.push_back(only_result(set, file));
      asked_.push_back(set);
      if (ran_out_of_memory(answers.back())) fs::remove(file, ignored);
    }
    note_units();
    return {};
  }

  void note_units() {
    for (std::size_t i = 0; i < asked_.size(); ++i) units_[plan_.tasks[i].name] = asked_[i].unit;
  }

  std::vector<std::string> task_names() const {
    std::vector<std::string> names;
    for (const PlannedTask& task : plan_.tasks) names.push_back(task.name);
    return names;
  }

  // Another time, or a larger machine, may have the memory.
  static bool ran_out_of_memory(const Curve& curve) {
    return std::ranges::any_of(curve.points, &CurvePoint::out_of_memory);
  }
  static bool ran_out_of_memory(const AnswersResult& answers) {
    return std::ranges::any_of(answers.cells,
                               [](const AnswersCell& cell) { return cell.note == kOutOfMemory; });
  }
  static bool ran_out_of_memory(const ComparedRun& run) {
    return ran_out_of_memory(run.curve) ||
           std::ranges::any_of(run.answers, [](const AnswersResult& answers) {
             return ran_out_of_memory(answers);
           });
  }

  // All that decides what is measured, but the weights: the run's name says what trained them.
  fs::path kept_folder(const PlannedRun& run) const {
    std::string key = protocol_key(run);
    for (const PlannedTask& task : plan_.tasks) key += task.name + task_key(run, task);
    return fs::path(plan_.file.measured) / (run.name + "-" + sha256_hex(key).substr(0, 8));
  }

  std::string protocol_key(const PlannedRun& run) const {
    return cat(arithmetic_text(run.config.model), kCurveFormat, lengths_text(plan_.lengths, ","),
               join(protocol_arguments(run.config), " "), text_key(run),
               evaluator_hash(run.config));
  }
  std::string task_key(const PlannedRun& run, const PlannedTask& task) const {
    return cat(arithmetic_text(run.config.model), kAnswersFormat, lengths_text(task.lengths, ","),
               join(task_arguments(run.config, task), " "), task.reads_text ? text_key(run) : "");
  }
  std::string text_key(const PlannedRun& run) const {
    const ScoredText& text = plan_.variants[run.variant].text;
    return text.hash + text.prompts;
  }

  fs::path answers_folder(const PlannedRun& run, const fs::path& checkpoint,
                          const PlannedTask& task) const {
    const std::string key = sha256_file(checkpoint / "manifest.json") + task_key(run, task);
    return plan_.folder / "answers" /
           cat(run.name, "-", task.name, "-", sha256_hex(key).substr(0, 8));
  }

  // Named after all that decides a curve.
  fs::path curve_folder(const PlannedRun& run, const fs::path& checkpoint) const {
    const std::string key = sha256_file(checkpoint / "manifest.json") + protocol_key(run);
    return plan_.folder / "curves" / (run.name + "-" + sha256_hex(key).substr(0, 8));
  }

  struct Ended {
    ProcessResult result;
    std::string why;  // it failed; else empty
  };

  // Runs the program to its end; a signal to us is passed on, once.
  template <class Look>
  Ended call(const PlannedRun& run, std::vector<std::string> arguments, const Look& look) {
    arguments.insert(arguments.begin(), program_);
    const fs::path log = log_file(run);
    const std::uint64_t before = size_of(log);
    ChildProcess child(arguments, log);
    for (bool passed_on = false; !child.ended(kLook);) {
      // Read once: one that comes behind this look is passed on at the next.
      if (const int signal = stop_signal(); signal != 0 && !passed_on) {
        child.signal(signal);
        passed_on = true;
      }
      look();
    }
    const int code = child.result().code;
    return {child.result(), code == 0 ? "" : why_failed(code, log, before)};
  }

  [[noreturn]] void throw_stopped() const {
    throw stopped_error("compare", stop_signal(),
                        "what is done is kept; the same command goes on from here");
  }

  const ExperimentPlan& plan_;
  std::string program_;
  const RunnerHooks& hooks_;
  CurveSet measured_;
  std::vector<AnswersSet> asked_;  // as the plan's tasks, of the last run
  std::map<std::string, std::string> units_;
};

void make_plan_folders(const ExperimentPlan& plan) {
  for (const char* folder : {"configs", "logs", "runs", "curves", "answers", "locks"})
    make_folders(plan.folder / folder);
}

ComparedRun run_unless_busy(Runner& runner, const ExperimentPlan& plan, std::size_t index) {
  try {
    return runner.run(index);
  } catch (const LockHeld& held) {
    ComparedRun run = not_made(plan, index);
    run.failure = held.what();
    return run;
  }
}

// Names of the jobs with a run that is wanted, in the plan's order.
template <class IsWanted>
std::vector<std::string> jobs_with(const ExperimentPlan& plan, const IsWanted& is_wanted) {
  std::vector<std::string> jobs;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const std::string& name = plan.runs[i].trained;
    const bool is_listed = std::find(jobs.begin(), jobs.end(), name) != jobs.end();
    if (!is_listed && is_wanted(i)) jobs.push_back(name);
  }
  return jobs;
}

[[noreturn]] void throw_no_job(const ExperimentPlan& plan, const std::string& name) {
  const auto known = jobs_with(plan, [](std::size_t) { return true; });
  throw usage_error("--run", cat("found ", shown(name), ", expected ", join(known, ", ")),
                    "a name ends in a hash of all that decides the run: the file or --set may have "
                    "changed since; --jobs prints the commands anew");
}

}  // namespace

std::vector<std::string> missing_jobs(const ExperimentPlan& plan) {
  const RunnerHooks none;
  const Runner runner(plan, "", none);
  const auto missing = [&](bool waits) {
    return jobs_with(plan, [&](std::size_t i) {
      return plan.runs[i].source.empty() != waits && !runner.is_done(i);
    });
  };
  std::vector<std::string> jobs = missing(false);
  for (std::string& job : missing(true)) jobs.push_back(std::move(job));
  return jobs;
}

std::vector<std::string> run_job(const ExperimentPlan& plan, const std::string& name,
                                 const std::string& program, const RunnerHooks& hooks) {
  // One of several that share a training may be named, too.
  std::string trained = name;
  for (const PlannedRun& run : plan.runs)
    if (run.name == name) trained = run.trained;
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    if (plan.runs[i].trained == trained) runs.push_back(i);
  }
  if (runs.empty()) throw_no_job(plan, name);
  make_plan_folders(plan);
  Runner runner(plan, program, hooks);
  std::vector<std::string> failures;
  for (const std::size_t i : runs) {
    const std::string failure = runner.run(i).failure;
    if (!failure.empty()) failures.push_back(cat(plan.runs[i].name, ": ", failure));
  }
  return failures;
}

Comparison run_experiment(const ExperimentPlan& plan, const std::string& program,
                          const RunnerHooks& hooks) {
  make_folders(plan.folder);
  const FileLock lock(plan.folder / "lock", "comparison " + plan.folder.string());
  make_plan_folders(plan);
  Runner runner(plan, program, hooks);
  Comparison comparison = describe_plan(plan);
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    ComparedRun run = run_unless_busy(runner, plan, i);
    if (run.failure.empty()) {
      describe_run(comparison, plan.runs[i].variant, run, runner.measured());
    } else if (hooks.finished) {
      hooks.finished(i, "failed: " + run.failure);
    }
    comparison.runs.push_back(std::move(run));
  }
  for (ComparedTask& task : comparison.tasks)
    if (const auto unit = runner.units().find(task.name); unit != runner.units().end())
      task.unit = unit->second;
  label_failures(comparison);
  fill_estimates(comparison);
  return comparison;
}

}  // namespace alibi
