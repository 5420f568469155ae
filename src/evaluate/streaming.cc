#include "evaluate/streaming.h"

#include <algorithm>

#include "base/error.h"
#include "evaluate/batch_losses.h"

namespace alibi {
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
        // The first token of a context is an input only: what precedes it is not there.
        lead_(std::max<std::int64_t>(0, runs.front().context - 1)) {}

  // `before`: targets scored by earlier streams.
  void run(std::vector<float>& losses, std::int64_t before) {
    const std::int64_t length = lead_ + runs_.front().count;
    for (std::int64_t at = 0; at < length; at += step_) {
      const std::int64_t count = std::min(step_, length - at);
      step(at, count, losses);
      const std::int64_t scored = std::max<std::int64_t>(0, at + count - lead_);
      if (options_.progress) options_.progress(before + std::ssize(runs_) * scored);
    }
  }

 private:
  void step(std::int64_t at, std::int64_t count, std::vector<float>& losses) {
    Batch batch;
    batch.length = count;
    batch.end = options_.end;
    for (const SampleRun& run : runs_) append_row(batch, sample_.ids, run.first - lead_ + at);
    ForwardOptions forward;
    forward.cache = &cache_;
    forward.stretch = options_.stretch;
    forward.slopes = options_.slopes;
    const torch::Tensor losses_BT =
        batch_losses(model_, batch, forward, options_.device, options_.chunk_rows);
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
  std::int64_t scored = 0;
  for (auto begin = sample.runs.begin(); begin != sample.runs.end();) {
    auto end = begin;
    while (end != sample.runs.end() && end - begin < most && one_shape(*begin, *end)) ++end;
    Stream(model, sample, {begin, end}, rule, options).run(losses, scored);
    scored += (end - begin) * begin->count;
    begin = end;
  }
  return losses;
}

}  // namespace alibi
