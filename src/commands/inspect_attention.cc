#include "commands/inspect_attention.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/version.h"
#include "checkpoint/load_model.h"
#include "commands/evaluation_text.h"
#include "commands/measuring_line.h"
#include "config/lengths.h"
#include "config/load.h"
#include "evaluate/attention_picture.h"
#include "evaluate/head_figures.h"
#include "evaluate/protocol.h"

namespace alibi {
namespace {

// Those of --lengths that the model's positions reach; what is left out is said.
std::vector<std::int64_t> lengths_of(const AttentionView& view, const Config& config) {
  const std::int64_t trained = batch_shape(config.batch).length;
  std::vector<std::int64_t> lengths;
  std::vector<std::string> left_out;
  std::string past;
  for (const std::string& text : view.lengths) {
    const auto length = length_in_tokens(text, trained);
    if (!length) {
      throw usage_error(
          "--lengths", cat("found \"", text, "\""),
          "write a multiple of the trained length, such as 4x, or tokens, such as 512");
    }
    const std::string why = past_position_limit(config.model, *length);
    if (!why.empty()) {
      left_out.push_back(text);
      past = why;
    } else if (std::ranges::find(lengths, *length) == lengths.end()) {
      lengths.push_back(*length);
    }
  }
  if (lengths.empty()) {
    throw usage_error("--lengths", cat("found ", join(left_out, ", "), ", but ", past),
                      cat("--lengths 1x: the trained length is ", trained));
  }
  if (!left_out.empty())
    log_info(cat("note: --lengths: ", join(left_out, ", "), " left out: ", past));
  return lengths;
}

AttentionPicture picture_of(LoadedModel& loaded, const AttentionView& view,
                            const CommandLine& command_line) {
  const std::vector<std::int64_t> lengths = lengths_of(view, loaded.config);
  const std::int64_t trained = batch_shape(loaded.config.batch).length;
  AttentionPicture picture = picture_attention(
      loaded,
      read_evaluation_text(view.texts, loaded, {.window = trained, .most = trained}).sample);
  const EvaluationText text = read_evaluation_text(view.texts, loaded, head_figures_rule(lengths));
  MeasuringLine line("inspect attention", "measuring heads", "windows");
  picture.lengths = measure_heads(loaded, text.sample, lengths, line.hook());
  line.finish();
  for (std::int64_t layer = 0; layer < loaded.config.model.layers; ++layer)
    picture.uncounted_kernels.push_back(loaded.model->uncounted_kernel(layer, loaded.device));
  picture.name = loaded.config.run.name;
  picture.program_version = kVersion;
  picture.command_line = command_line.text();
  picture.created = utc_timestamp();
  return picture;
}

// Text that is scored for curves of other slopes: enough to see, not to wait for.
constexpr std::int64_t kSlopeTokens = 16'384;

void measure_slopes(LoadedModel& loaded, const AttentionView& view, AttentionPicture& picture) {
  const std::vector<std::int64_t> lengths = parse_lengths(view.lengths, picture.trained_length);
  EvaluateConfig rules;
  rules.max_tokens = kSlopeTokens;
  const EvaluationText text = read_evaluation_text(view.texts, loaded, sample_rule(lengths, rules));
  MeasuringLine line("inspect attention", "measuring other slopes", "curves");
  picture.curves = slope_curves(loaded, text.sample, lengths, line.hook());
  line.finish();
}

Json head_value(const AttentionHead& head, const HeadFigures& figures) {
  return {{"slope", head.slope},
          {"visited_share", figures.visited_share},
          {"reach", figures.reach},
          {"mean_distance", figures.mean_distance},
          {"blind_bf16", figures.blind_bf16},
          {"blind_fp32", figures.blind_fp32},
          {"first_token", figures.first_token}};
}

Json attention_value(const AttentionPicture& picture) {
  Json lengths = Json::list();
  for (const HeadsAtLength& at : picture.lengths) {
    Json layers = Json::list();
    for (std::size_t layer = 0; layer < at.layers.size(); ++layer) {
      Json heads = Json::list();
      for (std::size_t head = 0; head < at.layers[layer].size(); ++head)
        heads.push_back(head_value(picture.layers[layer][head], at.layers[layer][head]));
      layers.push_back(std::move(heads));
    }
    lengths.push_back(
        {{"length", at.length}, {"windows", at.windows}, {"layers", std::move(layers)}});
  }
  return document("attention", {{"name", picture.name},
                                {"position", picture.position},
                                {"checkpoint", picture.checkpoint},
                                {"trained_length", picture.trained_length},
                                {"lengths", std::move(lengths)},
                                {"notes", attention_notes(picture)},
                                {"program_version", picture.program_version},
                                {"command_line", picture.command_line},
                                {"created", picture.created}});
}

}  // namespace

Found describe_attention(const AttentionView& view, const CommandLine& command_line) {
  if (!view.output.empty()) {
    check_file_name(view.output, "--out");
    check_ending(view.output, ".html");
  }
  allow_overrides(view.overrides, {"runtime"}, "has no effect on inspect attention");
  LoadedModel loaded = load_model(view.target, view.overrides);
  AttentionPicture picture = picture_of(loaded, view, command_line);
  Found found{attention_tables(picture), attention_value(picture)};
  if (view.output.empty()) return found;
  if (!loaded.model->slopes().empty()) measure_slopes(loaded, view, picture);
  write_file_atomic(view.output, attention_page(picture));
  found.text += "written: " + view.output + "\n";
  return found;
}

}  // namespace alibi
