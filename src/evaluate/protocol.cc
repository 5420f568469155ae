#include "evaluate/protocol.h"

#include <algorithm>

#include "evaluate/statistics.h"
#include "evaluate/streaming.h"

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
      if (!sample.is_learned(target)) continue;
      bin->loss += losses[static_cast<std::size_t>(target)];
      ++bin->count;
    }
  }
  std::erase_if(bins, [](const PositionBin& bin) { return bin.count == 0; });
  for (PositionBin& bin : bins) bin.loss /= static_cast<double>(bin.count);
  return bins;
}

double short_share(const std::vector<Window>& windows, std::int64_t length) {
  std::int64_t shorter = 0, all = 0;
  for (const Window& window : windows) {
    all += window.scored;
    if (window.length < length) shorter += window.scored;
  }
  return static_cast<double>(shorter) / static_cast<double>(all);
}

ScoredLength score_windows(LoadedModel& loaded, const TextSample& sample, Protocol protocol,
                           std::int64_t length, std::int64_t stride,
                           const ScoringOptions& scoring) {
  const std::vector<Window> windows = windows_of(protocol, sample, length, stride);
  const std::vector<float> all = score(loaded.model, sample.ids, windows, scoring);
  ScoredLength scored{scored_losses(sample, all), sample.scored(), sample.rule.window, 0, {}};
  if (protocol == Protocol::kNonOverlapping) {
    scored.bins = position_bins(sample, all, windows, length);
    scored.short_share = short_share(windows, length);
  }
  return scored;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

ScoringOptions scoring_at(const LoadedModel& loaded, const EvaluateConfig& rules,
                          std::int64_t length) {
  const std::int64_t trained = batch_shape(loaded.config.batch).length;
  const double multiple = static_cast<double>(length) / static_cast<double>(trained);
  ScoringOptions scoring;
  scoring.batch_tokens = rules.batch_tokens;
  scoring.chunk_rows = loaded.config.runtime.loss_chunk_rows;
  scoring.separate_documents = loaded.config.data.separate_documents;
  scoring.stretch = {rules.stretch, rules.stretch_factor.value_or(multiple), trained};
  scoring.end = loaded.tokenizer.end();
  scoring.device = loaded.device;
  return scoring;
}

ScoredLength score_length(LoadedModel& loaded, const TextSample& sample,
                          const EvaluateConfig& rules, std::int64_t length,
                          const ScoringOptions& scoring) {
  if (rules.protocol == Protocol::kStreaming) {
    const std::vector<float> all =
        score_streaming(loaded.model, sample, {length, rules.sinks}, scoring);
    return {scored_losses(sample, all), sample.scored(), sample.rule.window, 0, {}};
  }
  const std::int64_t half = std::max<std::int64_t>(1, length / 2);
  return score_windows(loaded, sample, rules.protocol, length, rules.stride.value_or(half),
                       scoring);
}

ScoredLength score_full_context(LoadedModel& loaded, const TextSample& sample,
                                const EvaluateConfig& rules, std::int64_t length,
                                const ScoringOptions& scoring) {
  return score_windows(loaded, sample, Protocol::kSliding, length, rules.split_stride.value(),
                       scoring);
}

std::vector<ScoredLength> score_one_pass(LoadedModel& loaded, const TextSample& sample,
                                         const std::vector<std::int64_t>& lengths,
                                         const ScoringOptions& scoring) {
  const std::int64_t longest = lengths.back();
  std::vector<Window> windows = windows_of(Protocol::kNonOverlapping, sample, longest, 0);
  std::erase_if(windows, [&](const Window& window) { return window.length < longest; });
  const std::vector<float> all = score(loaded.model, sample.ids, windows, scoring);
  std::vector<ScoredLength> scored;
  for (const std::int64_t length : lengths) {
    ScoredLength& one = scored.emplace_back();
    one.block = length;  // a window of it
    for (const Window& window : windows) {
      for (std::int64_t i = window.first; i < window.first + length; ++i) {
        if (!sample.is_learned(i)) continue;
        one.losses.push_back(all[static_cast<std::size_t>(i)]);
        one.ids.push_back(sample.ids[static_cast<std::size_t>(i)]);
      }
    }
  }
  scored.back().bins = position_bins(sample, all, windows, longest);
  return scored;
}

TextSize text_size(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  TextSize size;
  bool space = true;
  for (const std::int32_t id : ids) {
    const std::string& surface = tokenizer.surface(id);
    size.bytes += std::ssize(surface);
    for (const char c : surface) {
      if (space && !is_space(c)) ++size.words;
      space = is_space(c);
    }
    if (surface.empty()) space = true;  // the end of a document
  }
  return size;
}

}  // namespace alibi
