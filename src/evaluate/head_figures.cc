#include "evaluate/head_figures.h"

#include <algorithm>

#include "base/error.h"
#include "device/libtorch.h"
#include "evaluate/protocol.h"
#include "model/attention_tiled.h"

namespace alibi {
namespace {

constexpr double kReachShare = 0.9;
constexpr std::int64_t kWindows = 4;  // of each length
constexpr std::int64_t kRows = 32;    // queries of a window

// Scores of query i and of the keys up to its own, (H, i + 1) fp64. k: (G, S, D) fp32.
torch::Tensor scores_of_row(const AttentionInputs& inputs, const torch::Tensor& k_GSD,
                            const torch::Tensor& distance_bias_HS, std::int64_t i) {
  const std::int64_t keys = i + 1, heads = inputs.q_BHTD.size(1), width = k_GSD.size(2);
  const torch::Tensor q_GRD = inputs.q_BHTD[0]
                                  .select(1, i)
                                  .detach()
                                  .to(torch::kCPU, torch::kFloat)
                                  .reshape({k_GSD.size(0), -1, width});
  torch::Tensor scores_HS = torch::matmul(q_GRD, k_GSD.narrow(1, 0, keys).transpose(1, 2))
                                .reshape({heads, keys})
                                .to(torch::kDouble) *
                            inputs.options.scale;
  scores_HS += distance_bias_HS.narrow(1, 0, keys).flip(1);
  const ScoreBias& bias = inputs.options.bias;
  if (bias.rows) scores_HS += bias.rows(i, 1, keys).select(1, 0).detach().to(torch::kCPU);
  if (!bias.terms_BHS.defined()) return scores_HS;
  const torch::Tensor terms_HS = bias.terms_BHS[0].narrow(1, 0, keys).detach().to(torch::kCPU);
  return scores_HS + terms_HS.narrow(1, i, 1) - terms_HS;
}

// Sums over rows and windows of one layer at one length.
class LayerSums {
 public:
  explicit LayerSums(std::int64_t length) : length_(length) {}

  void add(const AttentionInputs& inputs) {
    const std::int64_t heads = inputs.q_BHTD.size(1);
    if (!weight_HS_.defined()) make(heads);
    const torch::Tensor k_GSD = inputs.k_BGSD[0].detach().to(torch::kCPU, torch::kFloat);
    const torch::Tensor bias_HS = inputs.options.bias.by_distance(heads, length_);
    const std::int64_t later = length_ - length_ / 2, rows = std::min(later, kRows);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t i = length_ - 1 - row * later / rows;
      const torch::Tensor hidden_HS =
          inputs.options.visible.hidden({length_, length_, i, 1, i + 1}, torch::kCPU)[0].squeeze(1);
      const torch::Tensor scores_HS = scores_of_row(inputs, k_GSD, bias_HS, i);
      add_row(scores_HS.masked_fill(hidden_HS, -INFINITY).softmax(1),
              hidden_HS.logical_not().expand_as(scores_HS));
    }
  }

  // `share_H`: of visited blocks.
  std::vector<HeadFigures> figures(const torch::Tensor& share_H) const {
    const torch::Tensor mean_HS = weight_HS_ / static_cast<double>(rows_);
    const torch::Tensor reach_H = (mean_HS.cumsum(1) < kReachShare).sum(1);
    const torch::Tensor distance_H = (mean_HS * torch::arange(length_, torch::kDouble)).sum(1);
    std::vector<HeadFigures> all;
    for (std::int64_t h = 0; h < mean_HS.size(0); ++h) {
      const auto of = [h](const torch::Tensor& x_H) { return x_H[h].item<double>(); };
      all.push_back({.visited_share = of(share_H),
                     .reach = of(reach_H),
                     .mean_distance = of(distance_H),
                     .blind_bf16 = of(blind_bf16_H_ / seen_H_),
                     .blind_fp32 = of(blind_fp32_H_ / seen_H_),
                     .first_token = of(first_H_) / static_cast<double>(rows_)});
    }
    return all;
  }

 private:
  void make(std::int64_t heads) {
    weight_HS_ = torch::zeros({heads, length_}, torch::kDouble);
    for (torch::Tensor* sum_H : {&blind_bf16_H_, &blind_fp32_H_, &seen_H_, &first_H_})
      *sum_H = torch::zeros({heads}, torch::kDouble);
  }

  void add_row(const torch::Tensor& weights_HS, const torch::Tensor& seen_HS) {
    weight_HS_.narrow(1, 0, weights_HS.size(1)).add_(weights_HS.flip(1));
    const torch::Tensor fp32_HS = weights_HS.to(torch::kFloat);
    blind_bf16_H_ += ((fp32_HS.to(torch::kBFloat16) == 0) & seen_HS).sum(1);
    blind_fp32_H_ += ((fp32_HS == 0) & seen_HS).sum(1);
    seen_H_ += seen_HS.sum(1);
    first_H_ += weights_HS.select(1, 0);
    ++rows_;
  }

  std::int64_t length_, rows_ = 0;
  torch::Tensor weight_HS_;  // by distance
  torch::Tensor blind_bf16_H_, blind_fp32_H_, seen_H_, first_H_;
};

// First ids of the windows.
std::vector<std::int64_t> starts_of(const TextSample& sample, std::int64_t length) {
  std::vector<std::int64_t> all, taken;
  for (const SampleRun& run : sample.runs) {
    for (std::int64_t at = run.count % length; at < run.count; at += length)
      all.push_back(run.first + at);
  }
  for (const WindowRange& range :
       spread_windows(std::ssize(all), {.window = length, .most = kWindows * length}))
    taken.insert(taken.end(), all.begin() + range.first, all.begin() + range.first + range.count);
  ensure(!taken.empty(), "the sample has a window of each length");
  return taken;
}

// Of one length, window by window.
class LengthSums {
 public:
  LengthSums(std::int64_t layers, std::int64_t length)
      : length_(length), layers_(static_cast<std::size_t>(layers), LayerSums(length)) {}

  void read(LoadedModel& loaded, const TextSample& sample, std::int64_t start) {
    const auto first = sample.ids.begin() + start;
    const std::vector<std::int64_t> ids(first, first + length_);
    std::vector<torch::Tensor> visited_BHN, shares_H;
    auto layer = layers_.begin();
    ForwardOptions options;
    options.visited_blocks = &visited_BHN;
    options.attention_inputs = [&](const AttentionInputs& inputs) { (layer++)->add(inputs); };
    read_windows(loaded, ids, 1, options);
    for (const torch::Tensor& counts : visited_BHN) shares_H.push_back(share_of_visited(counts)[0]);
    const torch::Tensor shares_LH = torch::stack(shares_H);
    shares_LH_ = shares_LH_.defined() ? shares_LH_ + shares_LH : shares_LH;
    ++windows_;
  }

  HeadsAtLength figures() const {
    HeadsAtLength all{.length = length_, .windows = windows_, .layers = {}};
    const torch::Tensor shares_LH = shares_LH_ / static_cast<double>(windows_);
    for (const LayerSums& layer : layers_)
      all.layers.push_back(layer.figures(shares_LH[std::ssize(all.layers)]));
    return all;
  }

 private:
  std::int64_t length_, windows_ = 0;
  std::vector<LayerSums> layers_;
  torch::Tensor shares_LH_;
};

}  // namespace

SampleRule head_figures_rule(const std::vector<std::int64_t>& lengths) {
  const std::int64_t longest = std::ranges::max(lengths);
  return {.window = longest, .most = kWindows * longest};
}

std::vector<HeadsAtLength> measure_heads(
    LoadedModel& loaded, const TextSample& sample, const std::vector<std::int64_t>& lengths,
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const torch::NoGradGuard guard;
  std::int64_t done = 0, total = 0;
  for (const std::int64_t length : lengths) total += std::ssize(starts_of(sample, length));
  std::vector<HeadsAtLength> all;
  for (const std::int64_t length : lengths) {
    LengthSums sums(loaded.config.model.layers, length);
    for (const std::int64_t start : starts_of(sample, length)) {
      sums.read(loaded, sample, start);
      if (progress) progress(++done, total);
    }
    all.push_back(sums.figures());
  }
  return all;
}

}  // namespace alibi
