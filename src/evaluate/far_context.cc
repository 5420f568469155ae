#include "evaluate/far_context.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "evaluate/blocks.h"
#include "evaluate/statistics.h"

namespace alibi {
namespace {

using Ids = std::vector<std::int32_t>;
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

struct ChosenWindows {
  std::vector<Ids> windows;  // each its inputs and, last, one target more
  // How many of them lie in the blocks up to each one's end: resampled together.
  std::vector<std::int64_t> block_ends;
};

ChosenWindows chosen_windows(const TextSample& sample, std::int64_t length, std::int64_t most) {
  struct Start {
    std::int64_t at, block;
  };
  std::vector<Start> starts;
  std::int64_t blocks = 0;
  for (const SampleRun& run : sample.runs) {
    const std::int64_t first =
        run.context > 0 ? run.first : run.first + 1;  // an input comes before
    for (std::int64_t at = first; at + length <= run.first + run.count; at += length)
      starts.push_back({at, blocks + (at - run.first) / block_tokens(sample)});
    blocks += run.count / block_tokens(sample) + 1;
  }
  const std::int64_t count = std::min<std::int64_t>(most, std::ssize(starts));
  ChosenWindows chosen;
  for (std::int64_t i = 0, block = -1; i < count; ++i) {  // spread evenly
    const Start& start = starts[static_cast<std::size_t>(i * std::ssize(starts) / count)];
    const auto at = sample.ids.begin() + start.at;
    chosen.windows.emplace_back(at - 1, at + length);
    if (start.block != std::exchange(block, start.block)) chosen.block_ends.push_back(0);
    chosen.block_ends.back() = i + 1;
  }
  return chosen;
}

class Ablation {
 public:
  Ablation(Gpt& model, std::vector<Ids> windows, const ScoringOptions& options,
           const Progress& progress)
      : model_(model),
        windows_(std::move(windows)),
        options_(options),
        near_(std::ssize(windows_.front()) / 2),
        far_(std::ssize(windows_.front()) - 1 - near_) {
    if (progress)
      options_.progress = [&, total = std::ssize(windows_) * (3 * (far_ + near_) + near_)](
                              std::int64_t read) { progress(done_ + read, total); };
    plain_ = losses(windows_, far_ + near_);
  }

  std::int64_t near() const { return near_; }
  std::int64_t targets() const { return near_ * std::ssize(windows_); }

  // Losses less those with the true far half, window by window.
  std::vector<float> swapped() {
    std::vector<Ids> other = windows_;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const Ids& from = windows_[(i + other.size() / 2) % other.size()];
      std::copy(from.begin(), from.begin() + far_, other[i].begin());
    }
    return difference(losses(other, far_ + near_));
  }
  std::vector<float> shuffled() {
    std::vector<Ids> other = windows_;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const Permutation order(RandomKey{0}.with("shuffle").with(static_cast<std::uint64_t>(i)),
                              static_cast<std::uint64_t>(far_));
      for (std::int64_t j = 0; j < far_; ++j)
        other[i][static_cast<std::size_t>(j)] = windows_[i][order(static_cast<std::uint64_t>(j))];
    }
    return difference(losses(other, far_ + near_));
  }
  std::vector<float> cut() { return difference(losses(windows_, near_)); }

 private:
  // Of the near half's targets, with the last `length` inputs of each window.
  std::vector<float> losses(const std::vector<Ids>& windows, std::int64_t length) {
    Ids text;
    std::vector<Window> places;
    for (const Ids& window : windows) {
      text.insert(text.end(), window.begin(), window.end());
      places.push_back({std::ssize(text) - length, length, near_});
    }
    const std::vector<float> all = score(model_, text, places, options_);
    done_ += std::ssize(windows) * length;
    std::vector<float> near;
    for (const Window& place : places) {
      const auto end = all.begin() + place.first + length;
      near.insert(near.end(), end - near_, end);
    }
    return near;
  }
  std::vector<float> difference(std::vector<float> changed) const {
    for (std::size_t i = 0; i < changed.size(); ++i) changed[i] -= plain_[i];
    return changed;
  }

  Gpt& model_;
  std::vector<Ids> windows_;
  ScoringOptions options_;
  std::int64_t near_, far_;
  std::int64_t done_ = 0;  // tokens read by the passes before
  std::vector<float> plain_;
};

// One kind of change in every bin, from the near targets of all windows.
void fill_changes(std::vector<FarBin>& bins, BoundedMean FarBin::*kind,
                  const std::vector<float>& differences, std::int64_t near,
                  const std::vector<std::int64_t>& block_ends) {
  std::vector<double> means;
  std::vector<std::vector<double>> draws;
  for (const FarBin& bin : bins) {
    std::vector<float> part;
    for (auto window = differences.begin(); window != differences.end(); window += near)
      part.insert(part.end(), window + bin.first - 1, window + bin.last);
    means.push_back(mean_of(part));
    std::vector<std::int64_t> ends = block_ends;
    for (std::int64_t& end : ends) end *= bin.last - bin.first + 1;
    draws.push_back(bootstrap_means(part, ends));
  }
  const std::vector<Interval> joint = joint_95(means, draws);
  for (std::size_t i = 0; i < bins.size(); ++i)
    bins[i].*kind = {means[i], joint[i].low, joint[i].high};
}

}  // namespace

FarContext measure_far_context(Gpt& model, const TextSample& sample, const FarContextRule& rule,
                               const ScoringOptions& options, const Progress& progress) {
  ensure(rule.window >= 2, "a window has two halves");
  FarContext far;
  far.window = rule.window;
  const std::int64_t most =
      std::max<std::int64_t>(kLeastFarWindows, rule.targets / (rule.window / 2));
  ChosenWindows chosen = chosen_windows(sample, rule.window, most);
  if (std::ssize(chosen.windows) < kLeastFarWindows || std::ssize(chosen.block_ends) < kLeastBlocks)
    return far;
  Ablation ablation(model, std::move(chosen.windows), options, progress);
  const std::int64_t near = ablation.near();
  far.targets = ablation.targets();
  for (const auto& [first, last] : doubling_spans(near))
    far.bins.push_back({first, last, far.targets / near * (last - first + 1), {}, {}, {}});
  fill_changes(far.bins, &FarBin::swapped, ablation.swapped(), near, chosen.block_ends);
  fill_changes(far.bins, &FarBin::shuffled, ablation.shuffled(), near, chosen.block_ends);
  fill_changes(far.bins, &FarBin::cut, ablation.cut(), near, chosen.block_ends);
  return far;
}

}  // namespace alibi
