#include "evaluate/score.h"

#include <algorithm>

#include "base/error.h"
#include "evaluate/batch_losses.h"

namespace alibi {
namespace {

// Losses of consecutive windows of one length, as the rows of one forward pass.
torch::Tensor window_losses(Gpt& model, std::span<const std::int32_t> text,
                            std::span<const Window> windows, const ScoringOptions& options) {
  Batch batch;
  batch.length = windows.front().length;
  batch.end = options.end;
  for (const Window& window : windows) append_row(batch, text, window.first);
  if (options.separate_documents) mark_documents(batch);
  ForwardOptions forward;
  forward.stretch = options.stretch;
  forward.slopes = options.slopes;
  return batch_losses(model, batch, forward, options.device, options.chunk_rows);
}

}  // namespace

std::vector<Window> windows_of(Protocol protocol, std::int64_t targets, std::int64_t length,
                               std::int64_t stride) {
  ensure(length > 0 && targets > 0, "windows have a length and a text");
  const std::int64_t step = protocol == Protocol::kSliding ? stride : length;
  ensure(step > 0 && step <= length, "a stride lies within its window");
  std::vector<Window> windows;
  for (std::int64_t start = 0; start < targets; start += step) {
    const std::int64_t end = std::min(start + step, targets);
    const std::int64_t first = std::max<std::int64_t>(0, end - length);
    windows.push_back(protocol == Protocol::kSliding ? Window{first, end - first, end - start}
                                                     : Window{start, end - start, end - start});
  }
  return windows;
}

std::vector<Window> windows_of(Protocol protocol, const TextSample& sample, std::int64_t length,
                               std::int64_t stride) {
  std::vector<Window> all;
  for (const SampleRun& run : sample.runs) {
    // The first token of a context is an input only: what precedes it is not there.
    const std::int64_t most = std::max<std::int64_t>(0, run.context - 1);
    for (Window window : windows_of(protocol, run.count, length, stride)) {
      const std::int64_t room = length - window.length;  // less than a stride's worth stood before
      const std::int64_t back = protocol == Protocol::kSliding ? std::min(most, room) : 0;
      all.push_back({run.first + window.first - back, window.length + back, window.scored});
    }
  }
  return all;
}

std::vector<float> score(Gpt& model, std::span<const std::int32_t> targets,
                         const std::vector<Window>& windows, const ScoringOptions& options) {
  const torch::NoGradGuard guard;
  std::vector<float> losses(targets.size());
  std::int64_t scored = 0;
  for (auto begin = windows.begin(); begin != windows.end();) {
    const std::int64_t most = std::max<std::int64_t>(1, options.batch_tokens / begin->length);
    auto end = begin;
    while (end != windows.end() && end - begin < most && end->length == begin->length) ++end;
    const torch::Tensor losses_BT = window_losses(model, targets, {begin, end}, options);
    for (auto window = begin; window != end; ++window) {
      const float* row = losses_BT.data_ptr<float>() + (window - begin) * begin->length;
      std::copy(row + window->length - window->scored, row + window->length,
                losses.begin() + window->first + window->length - window->scored);
      scored += window->scored;
    }
    if (options.progress) options.progress(scored);
    begin = end;
  }
  return losses;
}

std::vector<float> scored_losses(const TextSample& sample, std::span<const float> losses) {
  std::vector<float> scored;
  for (const SampleRun& run : sample.runs) {
    for (std::int64_t i = run.first; i < run.first + run.count; ++i)
      if (sample.is_learned(i)) scored.push_back(losses[static_cast<std::size_t>(i)]);
  }
  return scored;
}

double mean_of(std::span<const float> losses) {
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

}  // namespace alibi
