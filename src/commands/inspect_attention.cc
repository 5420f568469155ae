#include "commands/inspect_attention.h"

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "base/version.h"
#include "checkpoint/load_model.h"
#include "commands/evaluation_text.h"
#include "commands/measuring_line.h"
#include "config/lengths.h"
#include "device/libtorch.h"
#include "evaluate/attention_picture.h"
#include "evaluate/protocol.h"
#include "report/table.h"

namespace alibi {
namespace {

// Shares by layer and head, (layers, H) fp64.
torch::Tensor visited_shares(LoadedModel& loaded, const TextSample& sample, std::int64_t length) {
  const torch::NoGradGuard guard;
  std::vector<std::int64_t> ids(sample.ids.end() - length, sample.ids.end());
  std::vector<torch::Tensor> visited_BHN;
  ForwardOptions options;
  options.visited_blocks = &visited_BHN;
  loaded.model->hidden(torch::tensor(ids).unsqueeze(0).to(loaded.device), options);
  const std::int64_t blocks = visited_BHN.front().size(2);
  const auto causal = static_cast<double>(blocks * (blocks + 1) / 2);
  std::vector<torch::Tensor> shares;
  for (const torch::Tensor& layer : visited_BHN)
    shares.push_back(layer.to(torch::kDouble).sum(2).mean(0) / causal);
  return torch::stack(shares);
}

std::string share_text(double share) { return fixed(100 * share, 1) + " %"; }

std::vector<std::string> row_of(std::string layer, std::string head, std::string slope,
                                const std::vector<torch::Tensor>& shares,
                                const std::function<double(const torch::Tensor&)>& value) {
  std::vector<std::string> row = {std::move(layer), std::move(head), std::move(slope)};
  for (const torch::Tensor& one : shares) row.push_back(share_text(value(one)));
  return row;
}

Table shares_table(const GptImpl& model, const std::vector<std::int64_t>& lengths,
                   const std::vector<torch::Tensor>& shares_LH) {
  Table table;
  table.columns = {{"layer", Align::kRight}, {"head", Align::kRight}, {"slope", Align::kRight}};
  for (const std::int64_t length : lengths)
    table.columns.push_back({with_commas(length), Align::kRight});
  const std::vector<double> slopes = model.slopes();
  for (std::int64_t layer = 0; layer < shares_LH.front().size(0); ++layer) {
    for (std::int64_t head = 0; head < shares_LH.front().size(1); ++head) {
      const std::string slope =
          slopes.empty() ? "-" : significant(slopes[static_cast<std::size_t>(head)], 4);
      table.rows.push_back(
          row_of(std::to_string(layer + 1), std::to_string(head + 1), slope, shares_LH,
                 [&](const torch::Tensor& one) { return one[layer][head].item<double>(); }));
    }
  }
  table.rows.push_back({});
  table.rows.push_back(row_of("all", "", "", shares_LH,
                              [](const torch::Tensor& one) { return one.mean().item<double>(); }));
  return table;
}

std::vector<std::int64_t> lengths_of(const AttentionView& view, const Config& config) {
  std::vector<std::int64_t> lengths;
  for (const std::string& text : view.lengths) {
    const auto length = length_in_tokens(text, batch_shape(config.batch).length);
    if (!length) throw usage_error("--lengths", "\"" + text + "\" is no whole number of tokens");
    const auto& limit = config.model.max_sequence_length;
    if (!limit || *length <= *limit) lengths.push_back(*length);
  }
  return lengths;
}

std::string describe_shares(LoadedModel& loaded, const AttentionView& view) {
  const std::vector<std::int64_t> lengths = lengths_of(view, loaded.config);
  if (lengths.empty()) return "";
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const EvaluationText text =
      read_evaluation_text(view.texts, loaded, {.window = longest, .most = longest});
  std::vector<torch::Tensor> shares_LH;
  for (const std::int64_t length : lengths)
    shares_LH.push_back(visited_shares(loaded, text.sample, length));
  return format_table(shares_table(*loaded.model, lengths, shares_LH)) +
         "share of the 64 x 64 blocks of keys in a query's past that were visited\n\n";
}

AttentionPicture picture_of(LoadedModel& loaded, const AttentionView& view,
                            const CommandLine& command_line) {
  const std::int64_t trained = batch_shape(loaded.config.batch).length;
  const EvaluationText text =
      read_evaluation_text(view.texts, loaded, {.window = trained, .most = trained});
  AttentionPicture picture = picture_attention(loaded, text.sample);
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

}  // namespace

std::string describe_attention(const AttentionView& view, const CommandLine& command_line) {
  LoadedModel loaded = load_model(view.target, view.overrides);
  AttentionPicture picture = picture_of(loaded, view, command_line);
  std::string text;
  if (loaded.model->counts_blocks(loaded.device)) text += describe_shares(loaded, view);
  text += reach_table(picture);
  if (view.output.empty()) return text;
  if (!loaded.model->slopes().empty()) measure_slopes(loaded, view, picture);
  write_file_atomic(view.output, attention_page(picture));
  return text + "written: " + view.output + "\n";
}

}  // namespace alibi
