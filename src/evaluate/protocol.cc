#include "evaluate/protocol.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/strings.h"
#include "config/key_pattern.h"
#include "config/lengths.h"
#include "config/protocols.h"
#include "data/batches.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "evaluate/blocks.h"
#include "evaluate/statistics.h"
#include "report/curve_files.h"
#include "text/sentencepiece_model.h"

namespace alibi {
namespace {

std::vector<PositionBin> position_bins(const TextSample& sample, std::span<const float> losses,
                                       const std::vector<Window>& windows, std::int64_t length) {
  std::vector<PositionBin> bins;
  for (const auto& [first, last] : doubling_spans(length))
    bins.push_back({.first = first, .last = last, .loss = 0, .count = 0});
  for (const Window& window : windows) {
    auto bin = bins.begin();
    for (std::int64_t position = 1; position <= window.length; ++position) {
      if (position > bin->last) ++bin;
      const std::int64_t target = window.first + position - 1;
      if (!sample.is_target(target)) continue;
      bin->loss += losses[static_cast<std::size_t>(target)];
      ++bin->count;
    }
  }
  std::erase_if(bins, [](const PositionBin& bin) { return bin.count == 0; });
  for (PositionBin& bin : bins) bin.loss /= static_cast<double>(bin.count);
  return bins;
}

// Of scored targets in windows side by side: whether more than half a length stands before each.
std::vector<std::uint8_t> late_targets(const TextSample& sample, const std::vector<Window>& windows,
                                       std::int64_t length) {
  std::vector<std::uint8_t> late;
  for (const Window& window : windows)
    for (std::int64_t position = 1; position <= window.length; ++position)
      if (sample.is_target(window.first + position - 1)) late.push_back(2 * position > length);
  return late;
}

double short_share(const std::vector<Window>& windows, std::int64_t length) {
  std::int64_t shorter = 0, all = 0;
  for (const Window& window : windows) {
    all += window.scored;
    if (window.length < length) shorter += window.scored;
  }
  return static_cast<double>(shorter) / static_cast<double>(all);
}

ScoredLength score_windows(LoadedModel& loaded, const TextSample& sample, std::int64_t length,
                           std::optional<std::int64_t> stride, const ScoringOptions& scoring) {
  const std::vector<Window> windows = windows_of(sample, length, stride);
  ScoredLength scored;
  ScoringOptions counting = scoring;
  counting.visited_share = &scored.visited_share;
  const std::vector<float> all = score(loaded.model, sample.ids, windows, counting);
  scored.losses = scored_losses(sample, all);
  scored.ids = sample.scored();
  scored.block_ends = block_ends(sample);
  if (!stride) {
    scored.bins = position_bins(sample, all, windows, length);
    scored.short_share = short_share(windows, length);
  }
  scored.late = stride ? std::vector<std::uint8_t>(scored.losses.size(), 1)
                       : late_targets(sample, windows, length);
  return scored;
}

std::optional<std::int64_t> stride_of(const EvaluateConfig& rules, std::int64_t length) {
  if (!protocol_row(rules.protocol).slides) return std::nullopt;
  return rules.stride.value_or(std::max<std::int64_t>(1, length / 2));
}

std::int64_t tokens_in(const std::vector<Window>& windows) {
  std::int64_t tokens = 0;
  for (const Window& window : windows) tokens += window.length;
  return tokens;
}

std::string targets_text(const ProtocolRow& protocol) {
  return cat(protocol.one_pass ? " The pass scores" : " Every length scores the same targets:",
             " all of the text, or, where it is longer than evaluate.max_tokens, whole windows of "
             "the longest length spread evenly over it. The text's first token is predicted from "
             "an end-of-document token, that of a later part from what precedes it in the text.");
}

std::string treatment_text(const EvaluateConfig& rules) {
  const std::string sinks =
      rules.sinks > 0 ? cat("The first ", rules.sinks, " tokens stay in the cache for good.") : "";
  if (rules.stretch == Stretch::kNone) return sinks;
  return cat(sinks, sinks.empty() ? "" : " ", "Positions are stretched (", name_of(rules.stretch),
             ") by ",
             rules.stretch_factor ? significant(*rules.stretch_factor, 4)
                                  : std::string("each length over the trained length"),
             ".");
}

std::string split_text(const EvaluateConfig& rules) {
  if (!rules.split_stride) return "";
  return cat(" Gains are split with windows slid by ", *rules.split_stride,
             " targets, so that each but the text's first has at least the length less ",
             *rules.split_stride, " tokens before it.");
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::string past_position_limit(const ModelConfig& model, std::int64_t length) {
  const auto limit = position_limit(model);
  return limit && length > *limit ? cat(name_of(model.position), " positions end at ", *limit) : "";
}

ScoringOptions scoring_at(const LoadedModel& loaded, const EvaluateConfig& rules,
                          std::int64_t length) {
  const std::int64_t trained = batch_shape(loaded.config.batch).length;
  const double multiple = static_cast<double>(length) / static_cast<double>(trained);
  ScoringOptions scoring;
  scoring.batch_tokens = rules.batch_tokens;
  scoring.chunk_rows = loaded.config.runtime.loss_chunk_rows;
  scoring.mlp_chunk_rows = loaded.config.runtime.mlp_chunk_rows;
  scoring.separate_documents = loaded.config.data.separate_documents;
  scoring.stretch = {rules.stretch, rules.stretch_factor.value_or(multiple), trained};
  scoring.end = loaded.tokenizer.end();
  scoring.device = loaded.device;
  return scoring;
}

void read_windows(LoadedModel& loaded, const std::vector<std::int64_t>& ids, std::int64_t rows,
                  ForwardOptions options) {
  Batch batch;
  batch.rows = rows;
  batch.length = std::ssize(ids) / rows;
  batch.inputs = ids;
  batch.end = loaded.tokenizer.end();
  const auto on_device = [&](const std::vector<std::int64_t>& values) {
    return torch::tensor(values).view({rows, batch.length}).to(loaded.device);
  };
  if (loaded.config.data.separate_documents) {
    mark_documents(batch);
    options.document_start_BT = on_device(batch.document_starts);
  }
  loaded.model->hidden(on_device(ids), options);
}

ScoredLength score_length(LoadedModel& loaded, const TextSample& sample,
                          const EvaluateConfig& rules, std::int64_t length,
                          const ScoringOptions& scoring) {
  if (protocol_row(rules.protocol).streams) {
    const std::vector<float> all =
        score_streaming(loaded.model, sample, {length, rules.sinks}, scoring);
    ScoredLength scored{.losses = scored_losses(sample, all),
                        .ids = sample.scored(),
                        .block_ends = block_ends(sample),
                        .late = {},
                        .bins = {}};
    scored.late.assign(scored.losses.size(), 1);
    return scored;
  }
  return score_windows(loaded, sample, length, stride_of(rules, length), scoring);
}

ScoredLength score_full_context(LoadedModel& loaded, const TextSample& sample,
                                const EvaluateConfig& rules, std::int64_t length,
                                const ScoringOptions& scoring) {
  return score_windows(loaded, sample, length, rules.split_stride.value(), scoring);
}

std::int64_t tokens_read(const TextSample& sample, const EvaluateConfig& rules,
                         std::int64_t length) {
  if (!protocol_row(rules.protocol).streams)
    return tokens_in(windows_of(sample, length, stride_of(rules, length)));
  std::int64_t tokens = 0;
  for (const SampleRun& run : sample.runs) tokens += lead_of(run) + run.count;
  return tokens;
}

std::int64_t tokens_read_full_context(const TextSample& sample, const EvaluateConfig& rules,
                                      std::int64_t length) {
  return tokens_in(windows_of(sample, length, rules.split_stride));
}

std::vector<ScoredLength> score_one_pass(LoadedModel& loaded, const TextSample& sample,
                                         const std::vector<std::int64_t>& lengths,
                                         const ScoringOptions& scoring) {
  const std::int64_t longest = lengths.back();
  std::vector<Window> windows = windows_of(sample, longest);
  std::erase_if(windows, [&](const Window& window) { return window.length < longest; });
  double visited_share = kNotMeasured;
  ScoringOptions counting = scoring;
  counting.visited_share = &visited_share;
  const std::vector<float> all = score(loaded.model, sample.ids, windows, counting);
  std::vector<ScoredLength> scored;
  for (const std::int64_t length : lengths) {
    ScoredLength& one = scored.emplace_back();
    for (const Window& window : windows) {
      for (std::int64_t i = window.first; i < window.first + length; ++i) {
        if (!sample.is_target(i)) continue;
        one.losses.push_back(all[static_cast<std::size_t>(i)]);
        one.ids.push_back(sample.ids[static_cast<std::size_t>(i)]);
      }
    }
    one.block_ends = equal_blocks(std::ssize(one.losses), length);  // of a window each
  }
  scored.back().bins = position_bins(sample, all, windows, longest);
  scored.back().visited_share = visited_share;
  return scored;
}

TextSize text_size(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  TextSize size;
  bool space = true, starts = true;  // a document
  // Bytes of U+2581, a token each: how a model without a piece for the space spells one.
  std::size_t spelled = 0;
  for (const std::int32_t id : ids) {
    std::string_view surface = tokenizer.surface(id);
    const auto spells = [&] {
      return tokenizer.is_byte_fallback(id) && surface == kSpace.substr(spelled, 1);
    };
    if (!spells()) spelled = 0;
    if (spells()) ++spelled;
    size.is_known = size.is_known && spelled < kSpace.size();
    if (starts && tokenizer.adds_space() && surface.starts_with(' ')) surface.remove_prefix(1);
    starts = id == tokenizer.end();
    size.is_known = size.is_known && id != tokenizer.unknown();
    size.bytes += std::ssize(surface);
    for (const char c : surface) {
      if (space && !is_space(c)) ++size.words;
      space = is_space(c);
    }
    if (starts) space = true;
  }
  return size;
}

CurveProtocol describe_protocol(const Config& config, torch::Device device) {
  const EvaluateConfig& rules = config.evaluate;
  const ProtocolRow& row = protocol_row(rules.protocol);
  CurveProtocol protocol;
  protocol.name = rules.protocol;
  protocol.stride = row.slides ? rules.stride.value_or(0) : 0;
  protocol.sinks = rules.sinks;
  protocol.split_stride = rules.split_stride.value_or(0);
  protocol.description = row.description(rules) + targets_text(row) + split_text(rules);
  protocol.treatment = treatment_text(rules);
  protocol.document_borders =
      config.data.separate_documents
          ? "Each token sees its own document only."
          : "Documents form one stream and attention crosses their borders, as in training.";
  protocol.precision = config.runtime.precision == Precision::kBf16
                           ? "bf16 activations, fp32 logits"
                           : describe_precision(config.runtime.precision);
  protocol.device = describe_device(device);
  return protocol;
}

namespace {

std::int64_t parse_length(const std::string& text, std::int64_t trained_length) {
  if (const auto length = length_in_tokens(text, trained_length)) return *length;
  throw usage_error(
      "evaluate.lengths",
      "found \"" + text + "\", expected a length such as 512 or a multiple such as 4x",
      cat("1x is the trained length ", trained_length,
          ", and a multiple a whole number of tokens"));
}

// Fewer parts than this would be no spread: then a length that does not divide a part ends it with
// a shorter window.
constexpr std::int64_t kLeastGroups = 8;

}  // namespace

std::vector<std::int64_t> parse_lengths(const std::vector<std::string>& texts,
                                        std::int64_t trained_length) {
  std::set<std::int64_t> lengths = {trained_length};
  for (const std::string& text : texts) lengths.insert(parse_length(text, trained_length));
  return {lengths.begin(), lengths.end()};
}

SampleRule sample_rule(const std::vector<std::int64_t>& lengths, const EvaluateConfig& rules) {
  const std::int64_t longest = lengths.back();
  const ProtocolRow& protocol = protocol_row(rules.protocol);
  const bool reads_back = protocol.reads_back() || rules.split_stride;
  SampleRule rule{
      .window = longest, .most = rules.max_tokens, .context = reads_back ? longest : 1, .group = 1};
  // An evaluator of key tokens reads back, whatever the protocol does.
  if (const KeyTokensConfig& k = rules.key_tokens;
      !k.evaluator.empty() && !names_key_token_list(k.evaluator))
    rule.context = std::max(rule.context, k.long_length.value_or(longest));
  std::int64_t group = 1;
  for (const std::int64_t length : lengths) {
    // group * longest is a multiple of `length`; what would leave fewer than kLeastGroups is left.
    const std::int64_t more = length / std::gcd(length, group * longest);
    if (more > rules.max_tokens / kLeastGroups / longest / group) return rule;
    group *= more;
  }
  if (protocol.side_by_side) rule.group = group;
  return rule;
}

// A cache that rolls keeps distances, not places.
void refuse_moving_places(const ModelConfig& model) {
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    for (std::int64_t head = 0; head < model.heads; ++head) {
      if (key_parts(model, layer, head).ask_for_places())
        throw usage_error("/evaluate/protocol",
                          "streams a text through a cache of moving places, and "
                          "model.attention_pattern has parts that ask where a key stands, expected "
                          "window, dilated and strided parts alone",
                          "--set evaluate.protocol=non_overlapping");
    }
  }
}

void check_rules(const std::vector<std::int64_t>& lengths, const Config& config) {
  const EvaluateConfig& rules = config.evaluate;
  if (protocol_row(rules.protocol).streams) refuse_moving_places(config.model);
  const std::int64_t shortest = lengths.front();
  const auto check = [&](const char* key, std::int64_t found, std::int64_t most) {
    if (found <= most) return;
    throw usage_error(
        cat("/evaluate/", key),
        cat("found ", found, ", expected at most ", most, ", as the shortest length is ", shortest),
        "lower it");
  };
  check("stride", rules.stride.value_or(0), shortest);
  // Every target then has at least three quarters of each length before it.
  check("split_stride", rules.split_stride.value_or(0), std::max<std::int64_t>(1, shortest / 4));
  check("sinks", rules.sinks, shortest - 1);
}

void check_sample(const TextSample& sample, const std::string& place, const std::string& way_out) {
  if (!sample.runs.empty() && !sample.scores_anything())
    throw Error(place, "its sample holds prompts only", "give more text, with completions");
  if (!sample.runs.empty()) return;
  throw Error(place,
              cat("found ", sample.available, " tokens, expected at least one window of ",
                  sample.rule.window),
              way_out);
}

}  // namespace alibi
