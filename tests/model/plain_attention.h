// Attention written twice more: as loops over single numbers in fp64, the truth of every kernel's
// test, and as the few LibTorch operators of a textbook, the yardstick for rounding.
//
// Letters as in model/attention.h; P = B H pairs.
#pragma once

#include <cmath>
#include <string>

#include "device/libtorch.h"
#include "model/attention.h"

namespace alibi {

struct PlainResult {
  torch::Tensor output, lse, q, k, v, slopes, table, terms;  // the last six are gradients
};

// What the loops give: the truth, and beside each number the sum of the absolute values of its
// terms, cancellation undone: one rounding of each term moves a number by that times one unit.
struct LoopResult {
  PlainResult value, terms;
};

// model/hashed_keys.h, word by word.
inline bool plain_groups_show(const KeyGroups& groups, std::int64_t b, std::int64_t h,
                              std::int64_t i, std::int64_t j) {
  bool shown = false;
  for (std::int64_t round = 0; round < groups.of_RBHS.size(0); ++round) {
    const auto of = groups.of_RBHS.accessor<std::int64_t, 4>()[round][b][h];
    shown = shown || (j < i && (of[i] == of[j] || of[i] == of[j] + 1));
  }
  return shown;
}

// kernels/visible_keys.h, word by word.
inline bool plain_sees(const VisibleKeys& visible, std::int64_t b, std::int64_t h, std::int64_t t,
                       std::int64_t i, std::int64_t j) {
  std::int64_t first = 0;
  if (visible.first_BT.defined()) first = visible.first_BT.accessor<std::int64_t, 2>()[b][t];
  if (j > i || j < first) return false;
  if (visible.groups.of_RBHS.defined()) {
    bool other = false;
    for (std::int64_t n = first; n < i; ++n)
      other = other || plain_groups_show(visible.groups, b, h, i, n);
    return j == i ? !other : plain_groups_show(visible.groups, b, h, i, j);
  }
  if (!visible.rules) return true;
  const std::vector<KeyRule>& rules = visible.rules->rules();
  const KeyRule& rule = rules[rules.size() == 1 ? 0 : static_cast<std::size_t>(h)];
  const KeyParts& p = rule.parts;
  const std::int64_t d = i - j;
  if (p.show_all() && !rule.list.given()) return true;
  if (d < p.window * p.dilation && d % p.dilation == 0) return true;
  if (p.stride > 0 && d % p.stride == 0) return true;
  if (p.segment > 0 && i / p.segment == j / p.segment) return true;
  if (p.period > 0 && j % p.period >= p.period - p.columns) return true;
  if (j - first < p.global) return true;
  for (std::int64_t n = 0; rule.list.given() && n < rule.list.begin[i / 64 + 1]; ++n)
    if (n >= rule.list.begin[i / 64] && rule.list.blocks[n] == j / 64) return true;
  return false;
}

// Dropout factors of one row of P T rows, as model/attention.h promises them.
inline std::vector<float> plain_mask(const ScoreOptions& options, std::int64_t row,
                                     std::int64_t keys) {
  std::vector<float> mask(static_cast<std::size_t>(keys), 1.0f);
  if (options.dropout > 0)
    fill_dropout(options.dropout_key, static_cast<std::uint64_t>(row), options.dropout, mask);
  return mask;
}

// One query row in loops: everything about (b, h, i).
class LoopAttention {
 public:
  LoopAttention(const AttentionInputs& inputs, const torch::Tensor& gradient)
      : options_(inputs.options),
        q_(inputs.q_BHTD.detach().to(torch::kDouble)),
        k_(inputs.k_BGSD.detach().to(torch::kDouble)),
        v_(inputs.v_BGSD.detach().to(torch::kDouble)),
        gradient_(gradient.to(torch::kDouble)),
        slopes_(exact(options_.bias.slopes_H)),
        table_(exact(options_.bias.table_HL)),
        terms_(exact(options_.bias.terms_BHS)) {
    for (PlainResult* r : {&r_.value, &r_.terms}) {
      r->output = torch::zeros_like(q_);
      r->lse = torch::zeros({q_.size(0), q_.size(1), q_.size(2)}, torch::kDouble);
      r->q = torch::zeros_like(q_);
      r->k = torch::zeros_like(k_);
      r->v = torch::zeros_like(v_);
      if (slopes_.defined()) r->slopes = torch::zeros_like(slopes_);
      if (table_.defined()) r->table = torch::zeros_like(table_);
      if (terms_.defined()) r->terms = torch::zeros_like(terms_);
    }
  }

  LoopResult run() {
    for (std::int64_t b = 0; b < q_.size(0); ++b) {
      for (std::int64_t h = 0; h < q_.size(1); ++h) {
        for (std::int64_t i = 0; i < q_.size(2); ++i) row(b, h, i);
      }
    }
    return r_;
  }

 private:
  static torch::Tensor exact(const torch::Tensor& x) {
    return x.defined() ? x.detach().to(torch::kDouble) : x;
  }

  double bias(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    if (slopes_.defined()) sum -= slopes_.accessor<double, 1>()[h] * static_cast<double>(i - j);
    if (table_.defined()) sum += table_.accessor<double, 2>()[h][table_place(i - j)];
    if (terms_.defined()) {
      const auto terms = terms_.accessor<double, 3>()[b][h];
      sum += terms[i] - terms[j];
    }
    return sum;
  }

  std::int64_t table_place(std::int64_t distance) const {
    return std::min(distance, table_.size(1) - 1);
  }

  static std::size_t at(std::int64_t j) { return static_cast<std::size_t>(j); }

  void row(std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t width = q_.size(3), g = h / (q_.size(1) / k_.size(1));
    const std::int64_t last = k_.size(2) - q_.size(2) + i;
    auto q = q_.accessor<double, 4>()[b][h][i];
    auto k = k_.accessor<double, 4>()[b][g];
    std::vector<double> p(at(last + 1), 0.0);
    double highest = -INFINITY, sum = 0;
    for (std::int64_t j = 0; j <= last; ++j) {
      for (std::int64_t c = 0; c < width; ++c) p[at(j)] += q[c] * k[j][c];
      const bool seen = plain_sees(options_.visible, b, h, i, last, j);
      p[at(j)] = seen ? p[at(j)] * options_.scale + bias(b, h, last, j) : -INFINITY;
      highest = std::max(highest, p[at(j)]);
    }
    for (double& share : p) sum += share = std::exp(share - highest);
    for (double& share : p) share /= sum;
    r_.value.lse.accessor<double, 3>()[b][h][i] = highest + std::log(sum);
    const std::vector<float> mask =
        plain_mask(options_, (b * q_.size(1) + h) * q_.size(2) + i, last + 1);
    for (const bool terms : {false, true})
      sums(terms ? r_.terms : r_.value, terms, {b, h, g, i}, p, mask);
  }

  struct Place {
    std::int64_t b, h, g, i;
  };

  // Output and gradients of one row, or with `terms` the same sums over absolute values.
  void sums(PlainResult& r, bool terms, Place at_row, const std::vector<double>& p,
            const std::vector<float>& mask) const {
    const auto [b, h, g, i] = at_row;
    const std::int64_t width = q_.size(3), last = std::ssize(p) - 1;
    const auto size = [terms](double x) { return terms ? std::abs(x) : x; };
    auto q = q_.accessor<double, 4>()[b][h][i], d_o = gradient_.accessor<double, 4>()[b][h][i];
    auto k = k_.accessor<double, 4>()[b][g], v = v_.accessor<double, 4>()[b][g];
    auto o = r.output.accessor<double, 4>()[b][h][i], dq = r.q.accessor<double, 4>()[b][h][i];
    auto dk = r.k.accessor<double, 4>()[b][g], dv = r.v.accessor<double, 4>()[b][g];
    std::vector<double> dp(p.size(), 0.0);
    double delta = 0;
    for (std::int64_t j = 0; j <= last; ++j) {
      for (std::int64_t c = 0; c < width; ++c) {
        o[c] += size(p[at(j)] * mask[at(j)] * v[j][c]);
        dv[j][c] += size(p[at(j)] * mask[at(j)] * d_o[c]);
        dp[at(j)] += size(mask[at(j)] * d_o[c] * v[j][c]);
      }
      delta += p[at(j)] * dp[at(j)];
    }
    for (std::int64_t j = 0; j <= last; ++j) {
      const double ds = p[at(j)] * (terms ? dp[at(j)] + delta : dp[at(j)] - delta);
      for (std::int64_t c = 0; c < width; ++c) {
        dq[c] += size(ds * k[j][c] * options_.scale);
        dk[j][c] += size(ds * q[c] * options_.scale);
      }
      if (slopes_.defined())
        r.slopes.accessor<double, 1>()[h] += size(-ds * static_cast<double>(last - j));
      if (table_.defined()) r.table.accessor<double, 2>()[h][table_place(last - j)] += size(ds);
      if (terms_.defined()) {
        r.terms.accessor<double, 3>()[b][h][j] += size(-ds);
        r.terms.accessor<double, 3>()[b][h][last] += size(ds);
      }
    }
  }

  ScoreOptions options_;
  torch::Tensor q_, k_, v_, gradient_, slopes_, table_, terms_;
  LoopResult r_;
};

inline LoopResult loop_attention(const AttentionInputs& inputs, const torch::Tensor& gradient) {
  return LoopAttention(inputs, gradient).run();
}

// The textbook on LibTorch operators in the inputs' own type, gradients by autograd.
inline PlainResult textbook_attention(const AttentionInputs& inputs,
                                      const torch::Tensor& gradient) {
  const ScoreOptions& o = inputs.options;
  const auto leaf = [](const torch::Tensor& x) {
    return x.defined() ? x.detach().clone().requires_grad_() : x;
  };
  const torch::Tensor q = leaf(inputs.q_BHTD), k = leaf(inputs.k_BGSD), v = leaf(inputs.v_BGSD),
                      slopes = leaf(o.bias.slopes_H), table = leaf(o.bias.table_HL),
                      terms = leaf(o.bias.terms_BHS);
  const std::int64_t queries = q.size(2), keys = k.size(2), share = q.size(1) / k.size(1);
  const torch::Tensor distance =
      torch::arange(keys - queries, keys).unsqueeze(1) - torch::arange(keys).unsqueeze(0);
  torch::Tensor s = q.matmul(k.repeat_interleave(share, 1).transpose(2, 3)) * o.scale;
  if (slopes.defined()) s = s - (slopes.view({-1, 1, 1}) * distance).to(s.scalar_type());
  if (table.defined()) {
    const torch::Tensor place = distance.clamp(0, table.size(1) - 1);
    s = s + table.index({torch::indexing::Slice(), place}).to(s.scalar_type());
  }
  if (terms.defined()) {
    const torch::Tensor own = terms.narrow(2, keys - queries, queries);
    s = s + (own.unsqueeze(3) - terms.unsqueeze(2)).to(s.scalar_type());
  }
  torch::Tensor hidden = torch::zeros({q.size(0), q.size(1), queries, keys}, torch::kBool);
  auto hides = hidden.accessor<bool, 4>();
  for (std::int64_t b = 0; b < q.size(0); ++b)
    for (std::int64_t h = 0; h < q.size(1); ++h)
      for (std::int64_t t = 0; t < queries; ++t)
        for (std::int64_t j = 0; j < keys; ++j)
          hides[b][h][t][j] = !plain_sees(o.visible, b, h, t, keys - queries + t, j);
  torch::Tensor p = s.masked_fill(hidden, -INFINITY).softmax(3);
  if (o.dropout > 0) {
    std::vector<float> mask;
    for (std::int64_t row = 0; row < q.size(0) * q.size(1) * queries; ++row) {
      const std::vector<float> part = plain_mask(o, row, keys);
      mask.insert(mask.end(), part.begin(), part.end());
    }
    p = p * torch::tensor(mask).view_as(p).to(p.scalar_type());
  }
  const torch::Tensor output = p.matmul(v.repeat_interleave(share, 1));
  output.backward(gradient);
  const auto grad = [](const torch::Tensor& x) { return x.defined() ? x.grad() : x; };
  return {output.detach(), {},           q.grad(),    k.grad(),
          v.grad(),        grad(slopes), grad(table), grad(terms)};
}

}  // namespace alibi
