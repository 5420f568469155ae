#include "evaluate/score.h"

#include <algorithm>

#include "base/error.h"
#include "data/batches.h"
#include "device/libtorch.h"
#include "model/attention_tiled.h"
#include "model/loss/cross_entropy.h"

namespace alibi {
namespace {

// Adds targets first .. first + batch.length - 1 of `text` as a row, each with the input before it;
// `batch.end` comes before the first of all.
void append_row(Batch& batch, std::span<const std::int32_t> text, std::int64_t first) {
  for (std::int64_t i = first; i < first + batch.length; ++i) {
    batch.inputs.push_back(i == 0 ? batch.end : text[static_cast<std::size_t>(i - 1)]);
    batch.targets.push_back(text[static_cast<std::size_t>(i)]);
  }
  ++batch.rows;
}

struct Pass {
  KeyValueCache* cache = nullptr;
  std::vector<torch::Tensor>* visited_blocks = nullptr;  // as ForwardOptions'
};

// One forward pass: losses in nats, (rows, length) fp32 on the CPU.
torch::Tensor batch_losses(Gpt& model, Batch& batch, const ScoringOptions& options,
                           const Pass& pass) {
  const auto on_device = [&](std::vector<std::int64_t>& values) {
    return torch::from_blob(values.data(), {batch.rows, batch.length}, torch::kLong)
        .clone()
        .to(options.device);
  };
  ForwardOptions forward;
  forward.cache = pass.cache;
  forward.visited_blocks = pass.visited_blocks;
  forward.stretch = options.stretch;
  forward.slopes = options.slopes;
  forward.mlp_chunk_rows = options.mlp_chunk_rows;
  if (!batch.document_starts.empty()) forward.document_start_BT = on_device(batch.document_starts);
  const torch::Tensor hidden_BTC = model->hidden(on_device(batch.inputs), forward);
  return token_losses(hidden_BTC.flatten(0, 1), model->head_VC(),
                      on_device(batch.targets).flatten(), options.chunk_rows)
      .view({batch.rows, batch.length})
      .to(torch::kCPU, torch::kFloat)
      .contiguous();
}

// The visited share of each window, the mean over layers and heads.
void copy_visited(const std::vector<torch::Tensor>& visited_BHN, float* shares) {
  torch::Tensor sum_B;
  for (const torch::Tensor& layer : visited_BHN) {
    const torch::Tensor share_B = share_of_visited(layer).mean(1);
    sum_B = sum_B.defined() ? sum_B + share_B : share_B;
  }
  const torch::Tensor mean_B =
      (sum_B / static_cast<double>(visited_BHN.size())).to(torch::kFloat).contiguous();
  std::copy_n(mean_B.data_ptr<float>(), mean_B.size(0), shares);
}

// What is known of a text's windows: the losses of its targets, then, where it is asked for, the
// visited share of each window. One list, so that processes can add theirs.
struct WindowNumbers {
  std::size_t targets;
  std::vector<float> all;

  float* losses() { return all.data(); }
  float* shares() { return all.data() + targets; }
};

// Consecutive windows of one length, from the one of number `first` on, as the rows of one forward
// pass.
void score_batch(Gpt& model, std::span<const std::int32_t> text, std::span<const Window> windows,
                 const ScoringOptions& options, WindowNumbers& numbers, std::ptrdiff_t first) {
  Batch batch;
  batch.length = windows.front().length;
  batch.end = options.end;
  for (const Window& window : windows) append_row(batch, text, window.first);
  if (options.separate_documents) mark_documents(batch);
  std::vector<torch::Tensor> visited_BHN;
  const bool counts = options.visited_share != nullptr;
  const torch::Tensor losses_BT =
      batch_losses(model, batch, options, {.visited_blocks = counts ? &visited_BHN : nullptr});
  if (counts) copy_visited(visited_BHN, numbers.shares() + first);
  const float* row = losses_BT.data_ptr<float>();
  for (const Window& window : windows) {
    std::copy(row + window.length - window.scored, row + window.length,
              numbers.losses() + window.first + window.length - window.scored);
    row += window.length;
  }
}

// Over all blocks of all windows: each counts as it has blocks up to a query's own.
double mean_share(const std::vector<Window>& windows, const float* shares) {
  double visited = 0, all = 0;
  for (const Window& window : windows) {
    const auto blocks = static_cast<double>((window.length + kTile - 1) / kTile);
    const double causal = blocks * (blocks + 1) / 2;
    visited += causal * static_cast<double>(*shares++);
    all += causal;
  }
  return visited / all;
}

}  // namespace

std::vector<Window> windows_of(std::int64_t targets, std::int64_t length,
                               std::optional<std::int64_t> stride) {
  ensure(length > 0 && targets > 0, "windows have a length and a text");
  const std::int64_t step = stride.value_or(length);
  ensure(step > 0 && step <= length, "a stride lies within its window");
  std::vector<Window> windows;
  for (std::int64_t start = 0; start < targets; start += step) {
    const std::int64_t end = std::min(start + step, targets);
    const std::int64_t first = std::max<std::int64_t>(0, end - length);
    windows.push_back(stride ? Window{first, end - first, end - start}
                             : Window{start, end - start, end - start});
  }
  return windows;
}

std::int64_t lead_of(const SampleRun& run) { return std::max<std::int64_t>(0, run.context - 1); }

std::vector<Window> windows_of(const TextSample& sample, std::int64_t length,
                               std::optional<std::int64_t> stride) {
  std::vector<Window> all;
  for (const SampleRun& run : sample.runs) {
    const std::int64_t most = lead_of(run);
    for (Window window : windows_of(run.count, length, stride)) {
      const std::int64_t room = length - window.length;  // at the start of the run
      const std::int64_t back = stride ? std::min(most, room) : 0;
      all.push_back({run.first + window.first - back, window.length + back, window.scored});
    }
  }
  return all;
}

std::vector<float> score(Gpt& model, std::span<const std::int32_t> targets,
                         const std::vector<Window>& windows, const ScoringOptions& options) {
  const torch::NoGradGuard guard;
  const std::size_t shares = options.visited_share == nullptr ? 0 : windows.size();
  WindowNumbers numbers{targets.size(), std::vector<float>(targets.size() + shares)};
  options.share.fill(numbers.all, [&] {
    std::int64_t read = 0, batch = 0;
    for (auto begin = windows.begin(), end = begin; begin != windows.end(); begin = end) {
      const std::int64_t most = std::max<std::int64_t>(1, options.batch_tokens / begin->length);
      while (end != windows.end() && end - begin < most && end->length == begin->length) ++end;
      if (options.share.owns(batch++))
        score_batch(model, targets, {begin, end}, options, numbers, begin - windows.begin());
      read += (end - begin) * begin->length;
      if (options.progress) options.progress(read);
    }
  });
  if (shares > 0) *options.visited_share = mean_share(windows, numbers.shares());
  numbers.all.resize(targets.size());
  return std::move(numbers.all);
}

std::vector<float> scored_losses(const TextSample& sample, std::span<const float> losses) {
  std::vector<float> scored;
  for (const SampleRun& run : sample.runs) {
    for (std::int64_t i = run.first; i < run.first + run.count; ++i)
      if (sample.is_target(i)) scored.push_back(losses[static_cast<std::size_t>(i)]);
  }
  return scored;
}

double mean_of(std::span<const float> losses) {
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

namespace {

constexpr std::int64_t kLongestStep = 512;

std::int64_t step_of(const StreamRule& rule) {
  const std::int64_t room = rule.window - rule.sinks;
  return std::clamp<std::int64_t>(room / 4, 1, kLongestStep);
}

// Runs of one shape, side by side as the rows of one stream.
class Stream {
 public:
  Stream(Gpt& model, const TextSample& sample, std::span<const SampleRun> runs,
         const StreamRule& rule, const ScoringOptions& options)
      : model_(model),
        sample_(sample),
        runs_(runs),
        options_(options),
        cache_(model->config().layers, rule.window, rule.sinks),
        step_(step_of(rule)),
        lead_(lead_of(runs.front())) {}

  // `before`: tokens read by earlier streams.
  void run(std::vector<float>& losses, std::int64_t before) {
    const std::int64_t length = lead_ + runs_.front().count;
    for (std::int64_t at = 0; at < length; at += step_) {
      const std::int64_t count = std::min(step_, length - at);
      step(at, count, losses);
      if (options_.progress) options_.progress(before + std::ssize(runs_) * (at + count));
    }
  }

 private:
  void step(std::int64_t at, std::int64_t count, std::vector<float>& losses) {
    Batch batch;
    batch.length = count;
    batch.end = options_.end;
    for (const SampleRun& run : runs_) append_row(batch, sample_.ids, run.first - lead_ + at);
    const torch::Tensor losses_BT = batch_losses(model_, batch, options_, {.cache = &cache_});
    for (std::size_t row = 0; row < runs_.size(); ++row) {
      const float* first = losses_BT.data_ptr<float>() + static_cast<std::int64_t>(row) * count;
      const std::int64_t unscored = std::clamp<std::int64_t>(lead_ - at, 0, count);
      std::copy(first + unscored, first + count,
                losses.begin() + runs_[row].first - lead_ + at + unscored);
    }
  }

  Gpt& model_;
  const TextSample& sample_;
  std::span<const SampleRun> runs_;
  const ScoringOptions& options_;
  KeyValueCache cache_;
  std::int64_t step_, lead_;
};

bool one_shape(const SampleRun& a, const SampleRun& b) {
  return a.count == b.count && a.context == b.context;
}

}  // namespace

std::vector<float> score_streaming(Gpt& model, const TextSample& sample, const StreamRule& rule,
                                   const ScoringOptions& options) {
  ensure(!options.separate_documents, "a stream crosses the borders of documents");
  const torch::NoGradGuard guard;
  std::vector<float> losses(sample.ids.size());
  const std::int64_t most = std::max<std::int64_t>(1, options.batch_tokens / step_of(rule));
  options.share.fill(losses, [&] {
    std::int64_t read = 0, stream = 0;
    for (auto begin = sample.runs.begin(), end = begin; begin != sample.runs.end(); begin = end) {
      while (end != sample.runs.end() && end - begin < most && one_shape(*begin, *end)) ++end;
      if (options.share.owns(stream++))
        Stream(model, sample, {begin, end}, rule, options).run(losses, read);
      read += (end - begin) * (lead_of(*begin) + begin->count);
      if (options.progress) options.progress(read);
    }
  });
  return losses;
}

}  // namespace alibi
