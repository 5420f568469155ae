// alibi evaluate: perplexity over lengths, for one or several checkpoints, as table, JSON, CSV,
// SVG, page.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/checksums.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "base/version.h"
#include "checkpoint/load_model.h"
#include "commands/commands.h"
#include "commands/evaluate_passkey.h"
#include "commands/evaluation_plan.h"
#include "commands/evaluation_text.h"
#include "commands/measuring_line.h"
#include "evaluate/curve.h"
#include "evaluate/protocol.h"
#include "report/curve_files.h"
#include "report/curve_plots.h"
#include "report/page.h"

namespace alibi {
namespace {

struct Options {
  EvaluationRequest request;
  std::vector<std::string> text;
  std::string output, title;
};

Curve measure(LoadedModel& loaded, const EvaluationCase& one, const TextSample& sample) {
  MeasuringLine line("evaluate", one.name, "targets");
  Curve curve = measure_curve(
      loaded, sample,
      {.lengths = one.lengths, .rules = one.plan.config.evaluate, .progress = line.hook()});
  line.finish();
  curve.name = one.name;
  curve.checkpoint_sha256 = sha256_file(loaded.folder / "manifest.json");
  return curve;
}

CurveSet measure_all(const std::vector<EvaluationCase>& cases, const Options& options) {
  CurveSet set;
  const SampleRule rule = shared_rule(cases);
  EvaluationText text;
  for (const EvaluationCase& one : cases) {
    LoadedModel loaded = load_model(one.plan);
    if (set.curves.empty() || options.text.empty())
      text = read_evaluation_text(options.text, loaded, rule);
    const CurveText described = describe_text(text, loaded.tokenizer);
    if (set.curves.empty()) {
      set.text = described;
      set.protocol = one.protocol;
      set.protocol.kernel =
          loaded.model->attention_kernel(1, one.lengths.front(), loaded.device, false);
    }
    if (described.sha256 != set.text.sha256) {
      throw usage_error("evaluate", one.name + " holds out another text than the first checkpoint",
                        "name one text for all: --text FILE");
    }
    set.curves.push_back(measure(loaded, one, text.sample));
  }
  return set;
}

void refuse_without_effect(const Options& options) {
  if (!options.title.empty() && options.output.empty())
    throw usage_error("--title", "has no effect without --output", "--output FOLDER");
  if (options.request.names.size() > options.request.checkpoints.size()) {
    throw usage_error("--name",
                      cat("found ", options.request.names.size(), " names for ",
                          options.request.checkpoints.size(), " checkpoints"),
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
  const std::vector<EvaluationCase> cases = plan_evaluation(options.request);
  if (cases.front().passkey()) {
    evaluate_passkeys(cases, {options.text, options.output, options.title}, session);
    return 0;
  }
  CurveSet set = measure_all(cases, options);
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
      ->add_option("CHECKPOINT", options->request.checkpoints,
                   "Checkpoints or run folders (newest checkpoint; RUN/best)")
      ->required();
  command
      ->add_option("--text", options->text, "Text files or folders; default: what the run held out")
      ->allow_extra_args(false);
  command->add_option("--lengths", options->request.lengths,
                      "For example 1x,2x,4x,10x or 512,4096; default: evaluate.lengths");
  command->add_option("--output", options->output,
                      "Folder for curve.json, curve.csv, curve.svg and index.html");
  command->add_option("--name", options->request.names, "Label of each checkpoint, in order")
      ->allow_extra_args(false);
  command->add_option("--title", options->title, "Title of the page");
  add_set_option(*command, options->request.overrides);
  command->callback([options, &session] {
    session.run = [options, &session] { return run(*options, session); };
  });
}

}  // namespace alibi
