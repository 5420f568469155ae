// alibi evaluate: perplexity over lengths, for one or several checkpoints, as table, JSON, CSV,
// SVG, page.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <set>

#include "base/checksums.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/strings.h"
#include "base/version.h"
#include "checkpoint/load_model.h"
#include "commands/commands.h"
#include "commands/evaluation_text.h"
#include "evaluate/curve.h"
#include "evaluate/lengths.h"
#include "report/curve_plots.h"
#include "report/page.h"
#include "report/progress.h"

namespace alibi {
namespace {

struct Options {
  std::vector<std::string> checkpoints, text, names, overrides;
  std::string lengths, output, title;
};

std::vector<std::string> asked_lengths(const Options& options, const Config& config) {
  return options.lengths.empty() ? config.evaluate.lengths : split(options.lengths, ',');
}

// One checkpoint and how it is to be measured.
struct Case {
  std::string name;
  ModelPlan plan;
  CurveOptions curve;
  CurveProtocol protocol;
};

Case plan_case(const Options& options, std::size_t index) {
  Case one{.name = {},
           .plan = plan_model(options.checkpoints[index], options.overrides),
           .curve = {},
           .protocol = {}};
  const Config& config = one.plan.config;
  one.name = index < options.names.size() ? options.names[index] : config.run.name;
  one.curve.lengths =
      parse_lengths(asked_lengths(options, config), batch_shape(config.batch).length);
  one.curve.protocol = config.evaluate.protocol;
  one.curve.stride = config.evaluate.stride.value_or(0);
  one.curve.batch_tokens = config.evaluate.batch_tokens;
  one.curve.stretch = config.evaluate.stretch;
  one.curve.stretch_factor = config.evaluate.stretch_factor.value_or(0);
  if (one.curve.stride > one.curve.lengths.front()) {
    throw usage_error("/evaluate/stride",
                      cat("found ", one.curve.stride, ", expected at most the shortest length ",
                          one.curve.lengths.front()),
                      "lower it, or leave the shorter lengths out");
  }
  one.protocol = describe_protocol(config, one.plan.device, one.curve);
  return one;
}

// One table holds one protocol.
void refuse_other_protocol(const Case& first, const Case& other) {
  const CurveProtocol &a = first.protocol, &b = other.protocol;
  const std::vector<std::vector<std::string>> rules = {
      {"evaluate.protocol", a.name, b.name},
      {"evaluate.stride", cat(a.stride), cat(b.stride)},
      {"evaluate.max_tokens", cat(first.plan.config.evaluate.max_tokens),
       cat(other.plan.config.evaluate.max_tokens)},
      {"data.separate_documents", a.document_borders, b.document_borders},
      {"runtime.precision", a.precision, b.precision}};
  for (const auto& rule : rules) {
    if (rule[1] == rule[2]) continue;
    throw usage_error("evaluate",
                      cat(first.name, " and ", other.name, " have different protocols: ", rule[0],
                          " is \"", rule[1], "\" and \"", rule[2], "\""),
                      rule[0].starts_with("data.")
                          ? "evaluate them apart"
                          : "--set " + rule[0] + "=... for all, or evaluate them apart");
  }
}

std::vector<Case> plan_cases(const Options& options) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < options.checkpoints.size(); ++i) {
    cases.push_back(plan_case(options, i));
    refuse_other_protocol(cases.front(), cases.back());
  }
  return cases;
}

// One rule for all checkpoints, so that all score the same targets.
SampleRule shared_rule(const std::vector<Case>& cases) {
  std::set<std::int64_t> lengths;
  for (const Case& one : cases) lengths.insert(one.curve.lengths.begin(), one.curve.lengths.end());
  return sample_rule({lengths.begin(), lengths.end()}, cases.front().curve.protocol,
                     cases.front().plan.config.evaluate.max_tokens);
}

Curve measure(LoadedModel& loaded, Case& one, const TextSample& sample) {
  const std::int64_t targets = sample.targets();
  TaskProgress progress(stderr, one.name,
                        static_cast<double>(targets * std::ssize(one.curve.lengths)), "targets");
  std::int64_t before = 0, last = 0;
  one.curve.progress = [&](const std::string&, std::int64_t done, std::int64_t) {
    if (stop_signal() != 0) throw stopped_error("evaluate", stop_signal(), "nothing was written");
    if (done <= last) before += targets;  // the next length has begun
    last = done;
    progress.show(static_cast<double>(before + done));
  };
  Curve curve = measure_curve(loaded, sample, one.curve);
  progress.finish();
  curve.name = one.name;
  curve.checkpoint_sha256 = sha256_file(loaded.folder / "manifest.json");
  return curve;
}

// Where two models were not given the same tokens.
void compare_texts(const CurveText& first, const CurveText& other, const std::string& name,
                   bool same_tokenizer) {
  if (other.sha256 == first.sha256) return;
  if (same_tokenizer) {
    throw usage_error("evaluate", name + " holds out another text than the first checkpoint",
                      "name one text for all: --text FILE");
  }
  log_warning("evaluate: " + name +
              " scores other tokens than the first checkpoint (another tokenizer): compare bits "
              "per byte, not perplexity");
}

CurveSet measure_all(const Options& options) {
  CurveSet set;
  std::vector<Case> cases = plan_cases(options);
  const SampleRule rule = shared_rule(cases);
  std::string first_tokenizer, tokenizer;  // the latter is what `text` was cut by
  EvaluationText text;
  for (Case& one : cases) {
    LoadedModel loaded = load_model(one.plan);
    const bool known = !options.text.empty() && tokenizer == loaded.tokenizer.hash();
    if (!known) text = read_evaluation_text(options.text, loaded, rule);
    tokenizer = loaded.tokenizer.hash();
    const std::int64_t targets = text.sample.targets();
    const CurveText described{text.files,
                              text.sample.words(),
                              text.sample.hash(),
                              targets,
                              text.sample.available - targets,
                              text_bytes(loaded.tokenizer, text.sample)};
    if (set.curves.empty()) {
      set.text = described;
      set.protocol = one.protocol;
      set.protocol.kernel =
          loaded.model->attention_kernel(1, one.curve.lengths.front(), loaded.device, false);
      first_tokenizer = tokenizer;
    }
    compare_texts(set.text, described, one.name, tokenizer == first_tokenizer);
    set.curves.push_back(measure(loaded, one, text.sample));
  }
  return set;
}

void refuse_without_effect(const Options& options) {
  if (!options.title.empty() && options.output.empty())
    throw usage_error("--title", "has no effect without --output", "--output FOLDER");
  if (options.names.size() > options.checkpoints.size()) {
    throw usage_error("--name",
                      cat("found ", options.names.size(), " names for ", options.checkpoints.size(),
                          " checkpoints"),
                      "give one a checkpoint at most");
  }
}

void write_files(const CurveSet& set, const std::filesystem::path& folder,
                 const std::string& title) {
  make_folders(folder);
  write_file_atomic(folder / "curve.json", curve_json(set));
  write_file_atomic(folder / "curve.csv", curve_csv(set));
  write_file_atomic(folder / "curve.svg", curve_svg(curve_plot(set, CurveFigure::kPerplexity)));
  write_file_atomic(folder / "index.html", curve_page(set, title));
}

int run(const Options& options, const Session& session) {
  refuse_without_effect(options);
  if (!options.output.empty()) check_can_make_folder(options.output);  // before minutes of work
  CurveSet set = measure_all(options);
  set.program_version = kVersion;
  set.command_line = session.command_line();
  set.created = utc_timestamp();
  std::fputs(curve_table(set).c_str(), stdout);
  if (options.output.empty()) return 0;
  write_files(set, options.output, options.title);
  std::printf("\nwritten: %s\n", (std::filesystem::path(options.output) / "index.html").c_str());
  return 0;
}

}  // namespace

void add_evaluate_command(CLI::App& app, Session& session) {
  CLI::App* command = add_command(
      app, "evaluate", "Measure perplexity at the trained length and beyond",
      "alibi evaluate runs/quickstart --lengths 1x,2x,4x,10x --output curves/quickstart");
  auto options = std::make_shared<Options>();
  command
      ->add_option("CHECKPOINT", options->checkpoints,
                   "Checkpoints or run folders (newest checkpoint; RUN/best)")
      ->required();
  command
      ->add_option("--text", options->text, "Text files or folders; default: what the run held out")
      ->allow_extra_args(false);
  command->add_option("--lengths", options->lengths,
                      "For example 1x,2x,4x,10x or 512,4096; default: evaluate.lengths");
  command->add_option("--output", options->output,
                      "Folder for curve.json, curve.csv, curve.svg and index.html");
  command->add_option("--name", options->names, "Label of each checkpoint, in order")
      ->allow_extra_args(false);
  command->add_option("--title", options->title, "Title of the page");
  add_set_option(*command, options->overrides);
  command->callback([options, &session] {
    session.run = [options, &session] { return run(*options, session); };
  });
}

}  // namespace alibi
