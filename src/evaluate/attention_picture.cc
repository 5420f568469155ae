#include "evaluate/attention_picture.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "evaluate/protocol.h"

namespace alibi {
namespace {

constexpr std::int64_t kMostWindow = 1024;  // its first tokens are shown
constexpr std::int64_t kShown = 48;

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

std::vector<float> floats(const torch::Tensor& x) {
  const torch::Tensor flat = x.to(torch::kFloat).contiguous().flatten();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

std::vector<AttentionHead> heads_of(const AttentionInputs& inputs) {
  const torch::Tensor scores_HTT = scores_of(inputs);
  const ScoreBias& bias = inputs.options.bias;
  const std::int64_t length = scores_HTT.size(1);
  const torch::Tensor bias_HS = bias.by_distance(scores_HTT.size(0), length);
  const torch::Tensor hidden_HTT =
      inputs.options.visible.hidden({length, length, 0, length, length}, torch::kCPU)[0].expand_as(
          scores_HTT);
  const torch::Tensor shown_HTT = scores_HTT.masked_fill(hidden_HTT, std::nan("")).tril();
  std::vector<AttentionHead> heads;
  for (std::int64_t h = 0; h < scores_HTT.size(0); ++h) {
    AttentionHead head;
    if (bias.slopes_H.defined()) head.slope = bias.slopes_H[h].item<double>();
    head.scores = floats(shown_HTT[h]);
    head.bias_by_distance = floats(bias_HS[h]);
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
  const std::int64_t window = std::min(picture.trained_length, kMostWindow);
  ensure(std::ssize(sample.ids) >= window, "the sample has a window");
  // What follows changes nothing of a causal model's first tokens.
  const auto first = sample.ids.end() - window;
  const std::vector<std::int64_t> ids(first, first + std::min(kShown, window));
  ForwardOptions options;
  options.attention_inputs = [&](const AttentionInputs& layer) {
    picture.layers.push_back(heads_of(layer));
  };
  read_windows(loaded, ids, 1, options);
  for (const std::int64_t token : ids) {
    const auto id = static_cast<std::int32_t>(token);
    picture.tokens.push_back(id == loaded.tokenizer.end() ? "<end>" : loaded.tokenizer.surface(id));
  }
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
