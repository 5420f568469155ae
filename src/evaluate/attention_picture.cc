#include "evaluate/attention_picture.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "evaluate/protocol.h"

namespace alibi {
namespace {

constexpr double kReachShare = 0.9;
constexpr std::int64_t kMostWindow = 1024;  // whole matrices are made of it
constexpr std::int64_t kShown = 48;         // tokens of the matrices that are drawn

// q.k scaled, with what of the bias is no function of the distance, (H, T, T) fp64.
torch::Tensor scores_of(const AttentionInputs& inputs) {
  const torch::Tensor q_HTD = inputs.q_BHTD[0].detach().to(torch::kCPU, torch::kDouble);
  const torch::Tensor k_GTD = inputs.k_BGSD[0].detach().to(torch::kCPU, torch::kDouble);
  const torch::Tensor k_HTD = k_GTD.repeat_interleave(q_HTD.size(0) / k_GTD.size(0), 0);
  const torch::Tensor scores_HTT =
      torch::matmul(q_HTD, k_HTD.transpose(1, 2)) * inputs.options.scale;
  const ScoreBias& bias = inputs.options.bias;
  const std::int64_t length = scores_HTT.size(1);
  if (bias.rows) return scores_HTT + bias.rows(0, length, length).detach().to(torch::kCPU);
  if (!bias.terms_BHS.defined()) return scores_HTT;
  const torch::Tensor terms_HS = bias.terms_BHS[0].detach().to(torch::kCPU);
  return scores_HTT + terms_HS.unsqueeze(2) - terms_HS.unsqueeze(1);
}

// Weights of the queries of the later half, (H, T / 2, T): 0 where hidden.
torch::Tensor later_weights(const torch::Tensor& scores_HTT, const torch::Tensor& bias_HS,
                            const torch::Tensor& hidden_HTT) {
  const std::int64_t length = scores_HTT.size(1), first = length / 2;
  const torch::Tensor query_T = torch::arange(length).unsqueeze(1);
  const torch::Tensor distance_TT = query_T - torch::arange(length).unsqueeze(0);
  const torch::Tensor sum_HTT =
      scores_HTT + bias_HS.index({torch::indexing::Slice(), distance_TT.clamp_min(0)});
  return sum_HTT.masked_fill(hidden_HTT, -INFINITY).softmax(2).narrow(1, first, length - first);
}

// Their mean at each distance, (H, T).
torch::Tensor weight_by_distance(const torch::Tensor& weights_HRT) {
  const std::int64_t rows = weights_HRT.size(1), length = weights_HRT.size(2);
  torch::Tensor by_HS = torch::zeros({weights_HRT.size(0), length}, torch::kDouble);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t seen = length - rows + r + 1;
    by_HS.narrow(1, 0, seen).add_(weights_HRT.select(1, r).narrow(1, 0, seen).flip(1));
  }
  return by_HS / static_cast<double>(rows);
}

// Of the keys that queries see, the share whose weight is no number of this type but 0, (H).
torch::Tensor blind_share(const torch::Tensor& weights_HRT, const torch::Tensor& seen_HRT,
                          torch::ScalarType type) {
  const torch::Tensor blind_HRT = (weights_HRT.to(torch::kFloat).to(type) == 0) & seen_HRT;
  return blind_HRT.sum({1, 2}, false, torch::kDouble) / seen_HRT.sum({1, 2}, false, torch::kDouble);
}

std::vector<float> floats(const torch::Tensor& x) {
  const torch::Tensor flat = x.to(torch::kFloat).contiguous().flatten();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

std::vector<AttentionHead> heads_of(const AttentionInputs& inputs, std::int64_t shown) {
  const torch::Tensor scores_HTT = scores_of(inputs);
  const ScoreBias& bias = inputs.options.bias;
  const torch::Tensor bias_HS = bias.by_distance(scores_HTT.size(0), scores_HTT.size(1));
  const std::int64_t length = scores_HTT.size(1);
  const torch::Tensor hidden_HTT =
      inputs.options.visible.hidden({length, length, 0, length, length}, torch::kCPU)
          .select(0, 0)
          .expand_as(scores_HTT);
  const torch::Tensor weights_HRT = later_weights(scores_HTT, bias_HS, hidden_HTT);
  const torch::Tensor seen_HRT =
      hidden_HTT.narrow(1, length - weights_HRT.size(1), weights_HRT.size(1)).logical_not();
  const torch::Tensor weight_HS = weight_by_distance(weights_HRT);
  const torch::Tensor blind_bf16_H = blind_share(weights_HRT, seen_HRT, torch::kBFloat16);
  const torch::Tensor blind_fp32_H = blind_share(weights_HRT, seen_HRT, torch::kFloat);
  const torch::Tensor reached_HS = weight_HS.cumsum(1) < kReachShare;
  std::vector<AttentionHead> heads;
  for (std::int64_t h = 0; h < scores_HTT.size(0); ++h) {
    AttentionHead head;
    if (bias.slopes_H.defined()) head.slope = bias.slopes_H[h].item<double>();
    head.reach = reached_HS[h].sum().item<double>();
    head.mean_distance = (weight_HS[h] * torch::arange(weight_HS.size(1))).sum().item<double>();
    head.blind_bf16 = blind_bf16_H[h].item<double>();
    head.blind_fp32 = blind_fp32_H[h].item<double>();
    head.first_token = weights_HRT[h].select(1, 0).mean().item<double>();
    const auto corner = [&](const torch::Tensor& x_TT) {
      return x_TT.narrow(0, 0, shown).narrow(1, 0, shown);
    };
    head.scores =
        floats(corner(scores_HTT[h]).masked_fill(corner(hidden_HTT[h]), std::nan("")).tril());
    head.bias_by_distance = floats(bias_HS[h].narrow(0, 0, shown));
    heads.push_back(std::move(head));
  }
  return heads;
}

struct SlopeCase {
  const char* rule;
  std::vector<double> slopes;
};

// What the model was trained with, every rule that gives something else, and no bias at all.
std::vector<SlopeCase> slope_cases(const LoadedModel& loaded) {
  std::vector<SlopeCase> cases = {{"as trained", loaded.model->slopes()}};
  constexpr std::pair<SlopeRule, const char*> kRules[] = {{SlopeRule::kPress, "press"},
                                                          {SlopeRule::kGeometric, "geometric"},
                                                          {SlopeRule::kExponential, "exponential"},
                                                          {SlopeRule::kEqual, "equal"}};
  for (const auto& [rule, name] : kRules) {
    ModelConfig model = loaded.config.model;
    model.slope_rule = rule;
    model.slopes.clear();
    model.biased_heads.reset();
    SlopeCase one{name, alibi_slopes(model)};
    if (std::none_of(cases.begin(), cases.end(),
                     [&](const SlopeCase& other) { return other.slopes == one.slopes; }))
      cases.push_back(std::move(one));
  }
  const auto heads = static_cast<std::size_t>(loaded.config.model.heads);
  cases.push_back({"none", std::vector<double>(heads, 0.0)});
  return cases;
}

}  // namespace

AttentionPicture picture_attention(LoadedModel& loaded, const TextSample& sample) {
  const torch::NoGradGuard guard;
  AttentionPicture picture;
  picture.position = name_of(loaded.config.model.position);
  picture.checkpoint = loaded.folder.string();
  picture.trained_length = batch_shape(loaded.config.batch).length;
  picture.window = std::min(picture.trained_length, kMostWindow);
  const std::int64_t shown = std::min(kShown, picture.window);
  const std::int64_t available = std::ssize(sample.ids);
  ensure(available >= picture.window, "the sample has a window");
  const std::vector<std::int64_t> ids(sample.ids.end() - picture.window, sample.ids.end());
  std::vector<AttentionInputs> inputs;
  ForwardOptions options;
  options.attention_inputs = &inputs;
  loaded.model->hidden(torch::tensor(ids).unsqueeze(0).to(loaded.device), options);
  for (std::int64_t i = 0; i < shown; ++i) {
    const auto id = static_cast<std::int32_t>(ids[static_cast<std::size_t>(i)]);
    picture.tokens.push_back(id == loaded.tokenizer.end() ? "<end>" : loaded.tokenizer.surface(id));
  }
  for (const AttentionInputs& layer : inputs) picture.layers.push_back(heads_of(layer, shown));
  return picture;
}

std::vector<SlopeCurve> slope_curves(
    LoadedModel& loaded, const TextSample& sample, const std::vector<std::int64_t>& lengths,
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  if (loaded.model->slopes().empty()) return {};
  constexpr double kFactors[] = {0.25, 0.5, 1, 2, 4};
  const EvaluateConfig rules;  // plain windows
  const std::vector<SlopeCase> cases = slope_cases(loaded);
  const std::int64_t all = (std::ssize(cases) - 1) * std::ssize(kFactors) + 1;
  std::vector<SlopeCurve> curves;
  for (const SlopeCase& one : cases) {
    for (const double factor : kFactors) {
      if (&one == &cases.back() && factor != 1) continue;  // nothing times a factor
      SlopeCurve curve{one.rule, factor, one.slopes, lengths, {}};
      for (double& slope : curve.slopes) slope *= factor;
      for (const std::int64_t length : lengths) {
        ScoringOptions scoring = scoring_at(loaded, rules, length);
        scoring.slopes = curve.slopes;
        const auto scored = score_length(loaded, sample, rules, length, scoring);
        curve.perplexities.push_back(std::exp(mean_of(scored.losses)));
      }
      curves.push_back(std::move(curve));
      if (progress) progress(std::ssize(curves), all);
    }
  }
  return curves;
}

}  // namespace alibi
