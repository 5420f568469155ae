// alibi evaluate: perplexity over lengths, for one or several checkpoints, as table, JSON, CSV,
// SVG, page.
#include <cstdio>
#include <memory>

#include "base/checksums.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/reader.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/version.h"
#include "checkpoint/load_model.h"
#include "commands/commands.h"
#include "commands/evaluate_answers.h"
#include "commands/evaluation_plan.h"
#include "commands/evaluation_text.h"
#include "commands/found.h"
#include "commands/measuring_line.h"
#include "commands/ranks.h"
#include "evaluate/curve.h"
#include "evaluate/protocol.h"
#include "evaluate/questions.h"
#include "report/curve_files.h"
#include "report/curve_plots.h"

namespace alibi {
namespace {

struct Options {
  EvaluationRequest request;
  std::vector<std::string> text;
  std::string output, title, progress;
  bool overwrite = false, as_json = false;
  RanksOptions ranks;
};

Curve measure(LoadedModel& loaded, const EvaluationCase& one, const TextSample& sample,
              const KeyTokens& key_tokens, World& world) {
  MeasuringLine line("evaluate", one.name, "tokens", world.is_first());
  MeasuringLine far("evaluate", one.name + ", far context", "tokens", world.is_first());
  const auto far_hook = far.hook();
  Curve curve = measure_curve(loaded, sample,
                              {.lengths = one.lengths,
                               .rules = one.plan.config.evaluate,
                               .progress = line.hook(),
                               .far_progress =
                                   [&](std::int64_t done, std::int64_t total) {
                                     line.finish();
                                     far_hook(done, total);
                                   },
                               .share = share_of(world),
                               .key_tokens = &key_tokens});
  line.finish();
  far.finish();
  curve.name = one.name;
  curve.checkpoint_sha256 = sha256_file(loaded.folder / "manifest.json");
  return curve;
}

struct Measured {
  CurveSet set;
  KeyTokens key_tokens;
};

// Of a device: where its kernels do not know the model, which then takes many times as long.
void warn_of_reference(const EvaluationCase& one, LoadedModel& loaded) {
  if (!loaded.device.is_cuda()) return;
  for (const std::int64_t length : one.lengths) {
    const std::string why = loaded.model->why_no_device_kernel(
        {.length = length, .documents = loaded.config.data.separate_documents}, loaded.device);
    if (why.empty()) continue;
    log_warning(cat(one.name, ": attention at length ", length,
                    " is the reference implementation's (", why, ")"));
    return;
  }
}

Measured measure_all(const std::vector<EvaluationCase>& cases, const Options& options,
                     World& world) {
  Measured measured;
  auto& [set, key_tokens] = measured;
  const SampleRule rule = shared_rule(cases);
  EvaluationText text;
  std::string first;
  for (const EvaluationCase& one : cases) {
    const bool reads = set.curves.empty() || options.text.empty();
    LoadedModel loaded =
        load_for_evaluation(one, world, options.text, rule, reads ? &text : nullptr);
    const CurveText described = describe_text(text, loaded.tokenizer);
    const std::string kernel = loaded.model->attention_kernel(
        {.length = one.lengths.front(), .documents = loaded.config.data.separate_documents},
        loaded.device);
    warn_of_reference(one, loaded);
    if (set.curves.empty()) {
      set.text = described;
      set.protocol = one.protocol;
      set.protocol.kernel = kernel;
      key_tokens = load_key_tokens(one, world, loaded, text.sample);
      set.key_tokens = key_tokens.rule;
    }
    refuse_other_text(one.name, text.sample, first);
    if (kernel != set.protocol.kernel) set.protocol.kernel.clear();  // no one line is true of all
    set.curves.push_back(measure(loaded, one, text.sample, key_tokens, world));
  }
  return measured;
}

void refuse_without_effect(const Options& options) {
  for (const auto& [given, name] : {std::pair(!options.title.empty(), "--title"),
                                    std::pair(options.overwrite, "--overwrite")}) {
    if (given && options.output.empty())
      throw usage_error(name, "has no effect without --output", "--output FOLDER");
  }
  if (options.request.names.size() > options.request.checkpoints.size()) {
    throw usage_error("--name",
                      cat("found ", options.request.names.size(), " names for ",
                          options.request.checkpoints.size(), " checkpoints"),
                      "give one a checkpoint at most");
  }
}

// Without what says how figures are made and shown, not which.
std::string measurement(const std::string& command_line) {
  RanksOptions ranks;
  std::vector<std::string> with_values = {"--progress"};
  for (const Option& option : with_ranks({}, ranks)) with_values.push_back(option.name);
  std::vector<std::string> words = {""}, kept;
  bool quoted = false;  // by shell_command: a space may stand in a word
  for (const char c : command_line) {
    if (c == '\'' && !words.back().ends_with('\\')) quoted = !quoted;
    if (c == ' ' && !quoted)
      words.emplace_back();
    else
      words.back() += c;
  }
  bool is_value = false;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const bool with_value = std::ranges::find(with_values, name) != with_values.end();
    const bool drops = with_value || word == "--json" || word == "--overwrite";
    if (!drops && !is_value) kept.push_back(word);
    is_value = with_value && name == word;
  }
  return join(kept, " ");
}

// A measurement is made again under its name; what another command measured is not lost unasked.
void check_earlier(const Options& options, bool asks, const std::string& command_line) {
  for (const bool of_answers : {false, true}) {
    const auto file =
        std::filesystem::path(options.output) / (of_answers ? "answers.json" : "curve.json");
    if (!std::filesystem::exists(file)) continue;
    std::vector<JsonFault> faults;  // a damaged file is another command's
    const Json json = parse_json(read_file(file), {}, faults).value_or(Json::object());
    const JsonReader earlier(json, file.string());
    const std::string made_by = earlier.text("command_line", "an unknown command");
    const bool same_kind = of_answers == asks;
    if (!same_kind || (measurement(made_by) != measurement(command_line) && !options.overwrite)) {
      throw usage_error(file.string(), cat("was measured by ", made_by, ", not by this command"),
                        cat("name another --output", same_kind ? ", or add --overwrite" : ""));
    }
    log_info(cat("replacing ", file.string(), " of ", earlier.text("created", "an unknown time")));
    return;
  }
  if (options.overwrite) return;
  for (const char* name : {"index.html", "curve.csv", "curve.svg", "answers.csv", "answers.jsonl",
                           "key_tokens.json", "comparison.json"}) {
    const auto file = std::filesystem::path(options.output) / name;
    if (std::filesystem::exists(file))
      throw usage_error(file.string(), "is there, and was not written by alibi evaluate",
                        "name another --output, or add --overwrite");
  }
}

void write_files(const Measured& measured, const std::filesystem::path& folder,
                 const std::string& title) {
  const auto& [set, key_tokens] = measured;
  make_folders(folder);
  std::error_code ignored;
  if (key_tokens.is_key.empty())
    std::filesystem::remove(folder / "key_tokens.json", ignored);  // of what is replaced
  else
    write_file_atomic(folder / "key_tokens.json",
                      key_token_list_json(as_list(key_tokens, set.text.sha256)));
  write_file_atomic(folder / "curve.json", curve_json(set));
  write_file_atomic(folder / "curve.csv", curve_csv(set));
  write_file_atomic(folder / "curve.svg", curve_svg(curve_plot(set, CurveFigure::kPerplexity)));
  write_file_atomic(folder / "index.html", curve_page(set, title));
}

void evaluate_curves(const std::vector<EvaluationCase>& cases, const Options& options, World& world,
                     const CommandLine& command_line) {
  Measured measured = measure_all(cases, options, world);
  CurveSet& set = measured.set;
  if (!world.is_first()) return;
  set.program_version = kVersion;
  set.command_line = command_line.text();
  set.created = utc_timestamp();
  print_found({curve_table(set), curve_value(set)}, options.as_json);
  if (options.output.empty()) return;
  write_files(measured, options.output, options.title);
  print_written(std::filesystem::path(options.output) / "index.html", options.as_json);
}

int run(const Options& options, const CommandLine& command_line) {
  show_progress_as(options.progress);
  refuse_without_effect(options);
  const WorldPlace place = place_of(options.ranks);
  if (place.rank > 0) set_log_level("warning");
  const bool writes = place.rank == 0 && !options.output.empty();
  if (writes) check_can_make_folder(options.output);  // before minutes of work
  EvaluationRequest request = options.request;
  request.device_index = place.local_rank;
  std::vector<EvaluationCase> cases = plan_evaluation(request);
  const Task task = cases.front().plan.config.evaluate.task;
  if (!reads_text(task) && !options.text.empty())
    throw usage_error("--text", cat("has no effect: the texts of ", name_of(task), " are made"));
  if (writes) check_earlier(options, cases.front().asks(), command_line.text());
  Ranks ranks(options.ranks, place, command_line);
  return ranks.run([&](World& world) {
    share_evaluation(cases, request, world);
    if (cases.front().asks())
      evaluate_answers(cases, {options.text, options.output, options.title, options.as_json}, world,
                       command_line);
    else
      evaluate_curves(cases, options, world, command_line);
    return 0;
  });
}

}  // namespace

Command evaluate_command() {
  auto options = std::make_shared<Options>();
  EvaluationRequest& request = options->request;
  return {
      .name = "evaluate",
      .summary = "Measure perplexity at the trained length and beyond",
      .footer = example(
          "alibi evaluate runs/quickstart --lengths 1x,2x,4x,10x --output curves/quickstart"),
      .options = with_ranks(
          {{.name = "CHECKPOINT",
            .meaning = "Checkpoints or run folders (newest checkpoint; RUN/best)",
            .target = &request.checkpoints,
            .required = true},
           {.name = "--text",
            .meaning = "Text file or folder, once for each; default: the run's held-out text",
            .target = &options->text,
            .one_value = true},
           {.name = "--lengths",
            .meaning = "For example 1x,2x,4x,10x or 512,4096; default: evaluate.lengths",
            .target = &request.lengths},
           {.name = "--output",
            .meaning =
                "Folder for curve.json, curve.csv, curve.svg and index.html, and key_tokens.json",
            .target = &options->output},
           json_option(options->as_json),
           progress_option(options->progress),
           {.name = "--overwrite",
            .meaning = "Replace what another command measured in that folder",
            .target = &options->overwrite},
           {.name = "--name",
            .meaning = "Label of a checkpoint, once for each, in order",
            .target = &request.names,
            .one_value = true},
           {.name = "--title", .meaning = "Title of the page", .target = &options->title},
           set_option(request.overrides)},
          options->ranks),
      .run = [options](const CommandLine& command_line) { return run(*options, command_line); }};
}

}  // namespace alibi
