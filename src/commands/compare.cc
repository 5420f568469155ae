// alibi compare: variants over seeds, trained where missing, measured on the same text.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/process.h"
#include "base/strings.h"
#include "base/version.h"
#include "commands/commands.h"
#include "commands/found.h"
#include "device/device.h"
#include "experiment/runner.h"
#include "report/comparison_reports.h"
#include "report/curve_plots.h"
#include "report/progress.h"
#include "report/raster.h"

namespace alibi {
namespace {

struct Options {
  std::string file, output, job, progress;
  std::vector<std::string> overrides;
  bool plan_only = false, jobs = false, as_json = false;
};

// "[2/9] sinusoidal, seed 0"
std::string label(const ExperimentPlan& plan, std::size_t run) {
  const PlannedRun& planned = plan.runs[run];
  return cat("[", run + 1, "/", plan.runs.size(), "] ", plan.variants[planned.variant].name,
             ", seed ", planned.seed);
}

// One live line for each run's training, and a line when something is finished.
class Terminal {
 public:
  explicit Terminal(const ExperimentPlan& plan) : plan_(plan) {}

  void show(const RunProgress& p) {
    const std::string task = cat(label(plan_, p.run), ": ", p.task);
    if (task != task_) {
      task_ = task;
      line_ = p.total > 0 ? std::make_unique<TaskProgress>(stderr, task, p.total, "tokens",
                                                           LiveOptions{}, p.done)
                          : nullptr;
      if (line_ == nullptr) log_info(task);
    }
    if (line_ != nullptr) line_->show(p.done);
  }

  void finished(std::size_t run, const std::string& text) {
    line_.reset();
    task_.clear();
    log_info(cat(label(plan_, run), ": ", text));
  }

 private:
  const ExperimentPlan& plan_;
  std::string task_;
  std::unique_ptr<TaskProgress> line_;
};

Found planned_runs(const ExperimentPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedRun& run : plan.runs) names.push_back(run.name);
  const std::vector<std::string> missing = missing_jobs(plan);
  return {cat(names.size(), " runs in ", plan.folder.string(), ", measured at ",
              lengths_text(plan.lengths, ", "), " tokens; ",
              missing.empty() ? "none is missing" : cat(missing.size(), " to be made (--jobs)"),
              "\n", join(names, "\n"), "\n"),
          document("plan", {{"folder", plan.folder.string()},
                            {"lengths", plan.lengths},
                            {"runs", names},
                            {"missing", missing}})};
}

// One command a line for each job of which something is missing.
void print_jobs(const ExperimentPlan& plan, const Options& options,
                const CommandLine& command_line) {
  std::vector<std::string> words = {command_line.words.front(), "compare", options.file};
  for (const std::string& set : options.overrides) words.insert(words.end(), {"--set", set});
  words.insert(words.end(), {"--run", ""});
  for (const std::string& job : missing_jobs(plan)) {
    words.back() = job;
    std::printf("%s\n", shell_command(words).c_str());
  }
}

// Before hours of work, of `job` or of all that is missing. What was measured on a device is
// compared without one, too; what is missing fails there.
void check_devices(const ExperimentPlan& plan, const std::vector<std::string>& missing,
                   const std::string& job) {
  std::set<std::string> jobs;
  for (const PlannedRun& run : plan.runs) jobs.insert(run.trained);
  if (job.empty() && missing.size() < jobs.size()) return;
  for (const PlannedRun& run : plan.runs) {
    const bool wanted = job.empty() || run.trained == job || run.name == job;
    if (wanted && std::ranges::find(missing, run.trained) != missing.end())
      open_device(run.config.runtime.device);
  }
}

Error some_failed(const std::string& folder) {
  return {"compare", "not every run could be measured",
          "the lines above say why, and logs/ in " + folder + "; the same command tries again"};
}

// What a report may have; of an earlier one, those that this one does not have are removed.
constexpr std::array kPictures = {"perplexity.svg", "perplexity.png",    "loss.svg",
                                  "loss.png",       "bits-per-byte.svg", "bits-per-byte.png"};

std::string task_picture(const std::string& name) { return "task-" + name; }

// Null where none is there, or none that can be read.
Json earlier_report(const std::filesystem::path& report) {
  std::vector<JsonFault> ignored;
  return is_there(report) ? parse_json(read_file(report), {.depth = 64}, ignored).value_or(nullptr)
                          : Json();
}

// Of the tasks of an earlier report.
std::set<std::string> task_pictures(const std::filesystem::path& report) {
  std::set<std::string> names;
  const Json earlier = earlier_report(report);
  const Json* tasks = earlier.find("tasks");
  if (tasks == nullptr || tasks->as_list() == nullptr) return names;
  for (const Json& task : *tasks->as_list())
    if (const Json* name = task.find("name"); name != nullptr && name->as_string() != nullptr)
      for (const char* ending : {".svg", ".png"})
        names.insert(task_picture(*name->as_string()) + ending);
  return names;
}

// The time of a report that says the same, so that a second one changes no file; "" if none does.
std::string created_before(Comparison comparison, const std::filesystem::path& report) {
  const Json earlier = earlier_report(report);
  const Json* const created = earlier.find("created");
  if (created == nullptr || created->as_string() == nullptr) return "";
  comparison.created = *created->as_string();
  return comparison_json(comparison) == read_file(report) ? comparison.created : "";
}

void write_files(const Comparison& comparison, const std::filesystem::path& folder) {
  const CurveSet curves = mean_curves(comparison);
  make_folders(folder);
  std::set<std::string> stale = task_pictures(folder / "comparison.json");
  stale.insert(kPictures.begin(), kPictures.end());
  write_file_atomic(folder / "comparison.json", comparison_json(comparison));
  write_file_atomic(folder / "comparison.csv", comparison_csv(comparison));
  std::vector<std::pair<std::string, PlotSpec>> plots;
  if (comparison.measure == Measure::kBitsPerByte) {
    plots = {{"bits-per-byte", curve_plot(curves, CurveFigure::kBitsPerByte)}};
  } else {
    plots = {{"perplexity", curve_plot(curves, CurveFigure::kPerplexity)},
             {"loss", curve_plot(curves, CurveFigure::kLoss)}};
  }
  for (const ComparedTask& task : comparison.tasks)
    plots.emplace_back(task_picture(task.name), task_plot(comparison, task));
  for (const auto& [name, plot] : plots) {
    const std::string svg = cat(name, ".svg"), png = cat(name, ".png");
    write_file_atomic(folder / svg, curve_svg(plot));
    stale.erase(svg);
    if (write_png(folder / svg, folder / png)) stale.erase(png);  // where it can be done
  }
  std::error_code ignored;
  for (const std::string& name : stale) std::filesystem::remove(folder / name, ignored);
  write_file_atomic(folder / "index.html", comparison_page(comparison));
}

// What is there without a report beside it was not written by a comparison.
void refuse_others_files(const std::filesystem::path& output) {
  for (const char* other : {"curve.json", "answers.json"})
    if (std::filesystem::exists(output / other))
      throw usage_error(output.string(),
                        cat("holds ", other, " of alibi evaluate, expected a comparison or none"),
                        "name another folder");
  std::vector<std::string> names(kPictures.begin(), kPictures.end());
  names.insert(names.end(), {"index.html", "comparison.csv"});
  for (const std::string& name : names)
    if (is_there(output / name))
      throw usage_error((output / name).string(), "is there, and was not written by alibi compare",
                        "name another folder, or move it away");
}

// Reports of the same comparison are written anew.
void refuse_others_report(const std::filesystem::path& output, const std::string& name) {
  const std::filesystem::path file = output / "comparison.json";
  const Json report = parse_json(read_file(file), file.string());
  const Json* found = report.find("name");
  const std::string* other = found == nullptr ? nullptr : found->as_string();
  if (other != nullptr && *other == name) return;
  throw usage_error(
      output.string(),
      cat("holds ",
          other == nullptr ? "a comparison.json without a name" : "comparison " + shown(*other),
          ", expected ", shown(name), " or none"),
      "name another folder, or remove this one");
}

int run(const Options& options, const CommandLine& command_line) {
  show_progress_as(options.progress);
  if (options.as_json && (options.jobs || !options.job.empty()))
    throw usage_error("--json", "has no effect with --jobs and --run");
  if (!options.output.empty() && (options.jobs || !options.job.empty()))
    throw usage_error("--output", "has no effect with --jobs and --run",
                      "the report is written once all are done");
  if (options.plan_only && !options.job.empty())
    throw usage_error("--run", "has no effect with --plan");
  const ComparisonFile file = load_comparison(options.file);
  const std::filesystem::path output = options.output.empty() ? file.folder : options.output;
  if (!options.plan_only && !options.jobs) check_can_make_folder(output);  // before hours of work
  const ExperimentPlan plan = plan_experiment(file, options.overrides);
  if (options.job.empty() && !options.jobs) {
    // Files that share a folder share its runs, and its report is of the last.
    if (!is_there(output / "comparison.json"))
      refuse_others_files(output);
    else if (!options.output.empty())
      refuse_others_report(output, file.name);
  }
  if (options.plan_only) return print_found(planned_runs(plan), options.as_json);
  if (options.jobs) {
    print_jobs(plan, options, command_line);
    return 0;
  }
  if (const auto missing = missing_jobs(plan); !missing.empty()) {
    check_can_make_folder(file.folder);
    check_can_make_folder(file.measured);
    check_devices(plan, missing, options.job);
  }
  Terminal terminal(plan);
  const RunnerHooks hooks = {
      .progress = [&](const RunProgress& p) { terminal.show(p); },
      .finished = [&](std::size_t i, const std::string& text) { terminal.finished(i, text); }};
  const std::string program = own_program().string();
  if (!options.job.empty()) {
    const auto failures = run_job(plan, options.job, program, hooks);
    for (const std::string& failure : failures) log_info("failed: " + failure);
    if (!failures.empty()) throw some_failed(file.folder);
    return 0;
  }
  Comparison comparison = run_experiment(plan, program, hooks);
  comparison.program_version = kVersion;
  comparison.command_line = command_line.text();
  const std::string before = created_before(comparison, output / "comparison.json");
  comparison.created = before.empty() ? utc_timestamp() : before;
  print_found({comparison_table(comparison), comparison_value(comparison)}, options.as_json);
  write_files(comparison, output);
  print_written(output / "index.html", options.as_json);
  for (const ComparedRun& one : comparison.runs) {
    if (!one.failure.empty()) throw some_failed(file.folder);
  }
  return 0;
}

}  // namespace

Command compare_command() {
  auto options = std::make_shared<Options>();
  return {
      .name = "compare",
      .summary = "Train variants over seeds and say which one wins, and whether it is noise",
      .footer = example("alibi compare configs/compare/positions.json\n"
                        "Runs that are finished are kept: the same command goes on where it was "
                        "stopped."),
      .options = {{.name = "FILE",
                   .meaning =
                       "JSON: base, variants, seeds, reference (data/README.md lists its keys)",
                   .target = &options->file,
                   .required = true},
                  {.name = "--output",
                   .meaning =
                       "Folder for comparison.json, .csv, pictures and index.html; default: the "
                       "comparison's own",
                   .target = &options->output},
                  json_option(options->as_json),
                  progress_option(options->progress),
                  {.name = "--plan",
                   .meaning = "Check the file and its texts, print the runs and exit",
                   .target = &options->plan_only},
                  {.name = "--jobs",
                   .meaning = "Print a command for each run that is missing, which may run at the "
                              "same time: for xargs -P, GNU parallel, sbatch --array; then exit",
                   .target = &options->jobs,
                   .excludes = "--plan"},
                  {.name = "--run",
                   .meaning = "Train and measure this run alone, as --jobs prints it, and exit",
                   .target = &options->job,
                   .excludes = "--jobs",
                   .value_name = "NAME"},
                  set_option(options->overrides)},
      .run = [options](const CommandLine& command_line) { return run(*options, command_line); }};
}

}  // namespace alibi
