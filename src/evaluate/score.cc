#include "evaluate/score.h"

#include <algorithm>

#include "base/error.h"
#include "data/batches.h"
#include "loss/cross_entropy.h"
#include "text/tokenizer.h"

namespace alibi {
namespace {

// Consecutive windows of one length, as the rows of one forward pass.
Batch gather(std::span<const std::int32_t> text, std::span<const Window> windows,
             bool separate_documents) {
  Batch batch{.rows = std::ssize(windows),
              .length = windows.front().length,
              .inputs = {},
              .targets = {},
              .document_starts = {}};
  for (const Window& window : windows) {
    for (std::int64_t i = window.first; i < window.first + window.length; ++i) {
      batch.inputs.push_back(i == 0 ? Tokenizer::kEnd : text[static_cast<std::size_t>(i - 1)]);
      batch.targets.push_back(text[static_cast<std::size_t>(i)]);
    }
  }
  if (separate_documents) mark_documents(batch);
  return batch;
}

torch::Tensor rows_of(std::vector<std::int64_t>& values, const Batch& batch, torch::Device device) {
  return torch::from_blob(values.data(), {batch.rows, batch.length}, torch::kLong)
      .clone()
      .to(device);
}

// Losses of a batch, (rows, length) fp32 on the CPU.
torch::Tensor batch_losses(Gpt& model, Batch& batch, const ScoringOptions& options) {
  ForwardOptions forward;
  forward.stretch = options.stretch;
  forward.slopes = options.slopes;
  if (!batch.document_starts.empty())
    forward.document_start_BT = rows_of(batch.document_starts, batch, options.device);
  const torch::Tensor hidden_BTC =
      model->hidden(rows_of(batch.inputs, batch, options.device), forward);
  const torch::Tensor targets_BT = rows_of(batch.targets, batch, options.device);
  return token_losses(hidden_BTC.flatten(0, 1), model->head_VC(), targets_BT.flatten(),
                      options.chunk_rows)
      .view({batch.rows, batch.length})
      .to(torch::kCPU, torch::kFloat)
      .contiguous();
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
    Batch batch = gather(targets, {begin, end}, options.separate_documents);
    const torch::Tensor losses_BT = batch_losses(model, batch, options);
    for (auto window = begin; window != end; ++window) {
      const float* row = losses_BT.data_ptr<float>() + (window - begin) * batch.length;
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
  for (const SampleRun& run : sample.runs)
    scored.insert(scored.end(), losses.begin() + run.first, losses.begin() + run.first + run.count);
  return scored;
}

double mean_of(std::span<const float> losses) {
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

}  // namespace alibi
