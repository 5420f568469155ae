#include "model/score_bias.h"

#include "base/error.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

// Rows of rising blocks, each of which ends with the row itself.
void check_list(const torch::Tensor& begin, const torch::Tensor& blocks) {
  ensure(begin.is_cpu() && blocks.is_cpu() && begin.is_contiguous() && blocks.is_contiguous(),
         "lists lie side by side on the CPU");
  const auto first = begin.accessor<std::int64_t, 1>(), block = blocks.accessor<std::int64_t, 1>();
  ensure(begin.numel() > 0 && first[0] == 0 && first[begin.numel() - 1] == blocks.numel(),
         "rows of a list of blocks");
  for (std::int64_t row = 0; row + 1 < begin.numel(); ++row) {
    ensure(first[row] < first[row + 1] && block[first[row + 1] - 1] == row,
           "a list of blocks holds each query's own block");
    for (std::int64_t n = first[row] + 1; n < first[row + 1]; ++n)
      ensure(block[n - 1] < block[n], "listed blocks rise");
  }
}

// (rows, columns) bool: the listed pairs of blocks.
torch::Tensor listed_pairs(const KeyRule& rule, std::int64_t columns) {
  torch::Tensor pairs = torch::zeros({rule.list.rows, columns}, torch::kBool);
  auto pair = pairs.accessor<bool, 2>();
  for (std::int64_t row = 0; row < rule.list.rows; ++row)
    for (std::int64_t n = rule.list.begin[row]; n < rule.list.begin[row + 1]; ++n)
      if (rule.list.blocks[n] < columns) pair[row][rule.list.blocks[n]] = true;
  return pairs;
}

}  // namespace

BiasForms ScoreBias::forms() const {
  return {slopes_H.defined(), table_HL.defined(), terms_BHS.defined()};
}

bool ScoreBias::needs_gradient() const {
  for (const torch::Tensor& x : {slopes_H, table_HL, terms_BHS})
    if (x.defined() && x.requires_grad()) return true;
  return false;
}

torch::Tensor ScoreBias::by_distance(std::int64_t heads, std::int64_t length) const {
  const auto exact = [](const torch::Tensor& x) {
    return x.detach().to(torch::kCPU, torch::kDouble);
  };
  ensure(!terms_BHS.defined(), "a bias that depends on distance alone");
  const torch::Tensor distance = torch::arange(length);
  torch::Tensor bias_HS = torch::zeros({heads, length}, torch::kDouble);
  if (slopes_H.defined()) bias_HS = bias_HS - exact(slopes_H).unsqueeze(1) * distance;
  if (table_HL.defined())
    bias_HS = bias_HS + exact(table_HL).index_select(1, distance.clamp_max(table_HL.size(1) - 1));
  return bias_HS;
}

KeyRule VisibleKeys::rule() const {
  ensure(window >= 0 && global >= 0, "numbers of keys");
  KeyRule rule{window, global, {}};
  if (list_begin.defined()) {
    check_list(list_begin, list_blocks);
    rule.list = {list_begin.data_ptr<std::int64_t>(), list_blocks.data_ptr<std::int64_t>(),
                 list_begin.numel() - 1};
  }
  return rule;
}

torch::Tensor VisibleKeys::hidden(const Part& part, torch::Device device) const {
  const auto whole = torch::TensorOptions().dtype(torch::kLong).device(device);
  const std::int64_t position = part.keys - part.queries + part.first;
  const torch::Tensor i_R1 = torch::arange(position, position + part.count, whole).unsqueeze(1);
  const torch::Tensor j_S = torch::arange(part.seen, whole);
  torch::Tensor first = torch::zeros({1, 1, 1}, whole);
  if (first_BT.defined()) first = first_BT.narrow(1, part.first, part.count).unsqueeze(2);
  torch::Tensor hidden = (j_S > i_R1).unsqueeze(0) | (j_S < first);
  if (window > 0) hidden = hidden | ((i_R1 - j_S >= window).unsqueeze(0) & (j_S - first >= global));
  if (list_begin.defined()) {
    const torch::Tensor pairs =
        listed_pairs(rule(), (part.keys + kListBlock - 1) / kListBlock).to(device);
    hidden = hidden | pairs.index({i_R1.floor_divide(kListBlock), j_S.floor_divide(kListBlock)})
                          .logical_not()
                          .unsqueeze(0);
  }
  return hidden;
}

}  // namespace alibi
