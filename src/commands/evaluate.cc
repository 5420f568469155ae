// alibi evaluate: perplexity over lengths, for one or several checkpoints, as table, JSON, CSV,
// SVG, page.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

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

std::string curve_name(const Options& options, std::size_t index, const LoadedModel& loaded) {
  if (index < options.names.size()) return options.names[index];
  return loaded.config.run.name;
}

// One checkpoint's curve; fills the set's protocol and text from the first.
void add_curve(CurveSet& set, const Options& options, std::size_t index,
               const std::string& command_place) {
  LoadedModel loaded = load_model(options.checkpoints[index], options.overrides);
  const EvaluateConfig& evaluate = loaded.config.evaluate;
  CurveOptions curve_options;
  curve_options.lengths =
      parse_lengths(asked_lengths(options, loaded.config), batch_shape(loaded.config.batch).length);
  curve_options.protocol = evaluate.protocol;
  curve_options.stride = evaluate.stride.value_or(0);
  curve_options.batch_tokens = evaluate.batch_tokens;
  const std::int64_t longest = curve_options.lengths.back();
  const EvaluationText text =
      read_evaluation_text(options.text, loaded, std::max(evaluate.max_tokens, longest));
  const std::int64_t available = std::ssize(text.stream.ids);
  const std::int64_t targets =
      shared_targets(available, evaluate.max_tokens, longest, join(text.files, ", "));
  const std::string name = curve_name(options, index, loaded);
  TaskProgress progress(
      stderr, name, static_cast<double>(targets * std::ssize(curve_options.lengths)), "targets");
  std::int64_t before = 0, last = 0;
  curve_options.progress = [&](const std::string&, std::int64_t done, std::int64_t) {
    if (stop_signal() != 0) throw stopped_error("evaluate", stop_signal(), "nothing was written");
    if (done <= last) before += targets;  // the next length has begun
    last = done;
    progress.show(static_cast<double>(before + done));
  };
  Curve curve = measure_curve(
      loaded, std::span(text.stream.ids).first(static_cast<std::size_t>(targets)), curve_options);
  progress.finish();
  curve.name = name;
  curve.checkpoint_sha256 = sha256_file(loaded.folder / "manifest.json");
  const CurveText described{text.files, text.stream.hash, targets, available - targets,
                            text.stream.bytes};
  if (index == 0) {
    set.protocol = describe_protocol(loaded, curve_options);
    set.text = described;
  } else if (described.sha256 != set.text.sha256 ||
             described.tokens_scored != set.text.tokens_scored) {
    log_warning(command_place + ": " + name + " scores other tokens than " +
                set.curves.front().name +
                " (another tokenizer or trained length): compare bits per byte, not perplexity");
  }
  set.curves.push_back(std::move(curve));
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
  if (!options.output.empty()) check_can_make_folder(options.output);  // before minutes of work
  CurveSet set;
  set.program_version = kVersion;
  set.command_line = session.command_line();
  set.created = utc_timestamp();
  for (std::size_t i = 0; i < options.checkpoints.size(); ++i)
    add_curve(set, options, i, "evaluate");
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
