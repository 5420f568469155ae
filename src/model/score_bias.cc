#include "model/score_bias.h"

#include "device/libtorch.h"

namespace alibi {

bool needs_gradient(const torch::Tensor& x) { return x.defined() && x.requires_grad(); }

BiasForms ScoreBias::forms() const {
  return {slopes_H.defined(), table_HL.defined(), terms_BHS.defined(), rows != nullptr};
}

bool ScoreBias::needs_gradient() const {
  return alibi::needs_gradient(slopes_H) || alibi::needs_gradient(table_HL) ||
         alibi::needs_gradient(terms_BHS) || rows_need_gradient;
}

torch::Tensor ScoreBias::by_distance(std::int64_t heads, std::int64_t length) const {
  const auto exact = [](const torch::Tensor& x) {
    return x.detach().to(torch::kCPU, torch::kDouble);
  };
  const torch::Tensor distance = torch::arange(length);
  torch::Tensor bias_HS = torch::zeros({heads, length}, torch::kDouble);
  if (slopes_H.defined()) bias_HS = bias_HS - exact(slopes_H).unsqueeze(1) * distance;
  if (table_HL.defined())
    bias_HS = bias_HS + exact(table_HL).index_select(1, distance.clamp_max(table_HL.size(1) - 1));
  return bias_HS;
}

torch::Tensor continue_terms(const torch::Tensor& before_BHS, const torch::Tensor& added_BHT) {
  if (!before_BHS.defined() || before_BHS.size(2) == 0) return added_BHT;
  return torch::cat({before_BHS, before_BHS.narrow(2, before_BHS.size(2) - 1, 1) + added_BHT}, 2);
}

torch::Tensor sum_of_terms(const torch::Tensor& of_queries_BHT, const torch::Tensor& of_keys_BHS,
                           const torch::Tensor& terms_BHS) {
  const std::int64_t queries = of_queries_BHT.size(2), keys = of_keys_BHS.size(2);
  return at::constant_pad_nd(of_queries_BHT, {keys - queries, 0})
      .add_(of_keys_BHS)
      .to(terms_BHS.scalar_type());
}

}  // namespace alibi
