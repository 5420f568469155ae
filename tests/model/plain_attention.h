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
  torch::Tensor output, lse, q, k, v, slopes, buckets;  // the last five are gradients
};

// What the loops give: the truth, and beside each number the sum of the absolute values of its
// terms, cancellation undone: one rounding of each term moves a number by that times one unit.
struct LoopResult {
  PlainResult value, terms;
};

inline std::int64_t plain_bucket(std::int64_t distance, std::int64_t buckets,
                                 std::int64_t max_distance) {
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return distance;
  const double from = static_cast<double>(exact);
  const double share = std::log(static_cast<double>(distance) / from) /
                       std::log(static_cast<double>(max_distance) / from);
  // 1e-9: a logarithm that should be whole may fall just short of it.
  const double far = share * static_cast<double>(buckets - exact) + 1e-9;
  return std::min(buckets - 1, exact + static_cast<std::int64_t>(far));
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
        slopes_(exact(options_.slopes_H)),
        buckets_(exact(options_.buckets_NH)) {
    for (PlainResult* r : {&r_.value, &r_.terms}) {
      r->output = torch::zeros_like(q_);
      r->lse = torch::zeros({q_.size(0), q_.size(1), q_.size(2)}, torch::kDouble);
      r->q = torch::zeros_like(q_);
      r->k = torch::zeros_like(k_);
      r->v = torch::zeros_like(v_);
      if (slopes_.defined()) r->slopes = torch::zeros_like(slopes_);
      if (buckets_.defined()) r->buckets = torch::zeros_like(buckets_);
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

  double bias(std::int64_t h, std::int64_t distance) const {
    double sum = 0;
    if (slopes_.defined()) sum -= slopes_.accessor<double, 1>()[h] * static_cast<double>(distance);
    if (buckets_.defined()) sum += buckets_.accessor<double, 2>()[bucket(distance)][h];
    return sum;
  }

  std::int64_t bucket(std::int64_t distance) const {
    return plain_bucket(distance, buckets_.size(0), options_.bucket_max_distance);
  }

  static std::size_t at(std::int64_t j) { return static_cast<std::size_t>(j); }

  void row(std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t width = q_.size(3), g = h / (q_.size(1) / k_.size(1));
    const std::int64_t last = k_.size(2) - q_.size(2) + i;
    const auto& starts = options_.document_start_BT;
    const std::int64_t first = starts.defined() ? starts[b][i].item<std::int64_t>() : 0;
    auto q = q_.accessor<double, 4>()[b][h][i];
    auto k = k_.accessor<double, 4>()[b][g];
    std::vector<double> p(at(last + 1), 0.0);
    double highest = -INFINITY, sum = 0;
    for (std::int64_t j = first; j <= last; ++j) {
      for (std::int64_t c = 0; c < width; ++c) p[at(j)] += q[c] * k[j][c];
      p[at(j)] = p[at(j)] * options_.scale + bias(h, last - j);
      highest = std::max(highest, p[at(j)]);
    }
    for (std::int64_t j = first; j <= last; ++j) sum += p[at(j)] = std::exp(p[at(j)] - highest);
    for (double& share : p) share /= sum;
    r_.value.lse.accessor<double, 3>()[b][h][i] = highest + std::log(sum);
    const std::vector<float> mask =
        plain_mask(options_, (b * q_.size(1) + h) * q_.size(2) + i, last + 1);
    for (const bool terms : {false, true})
      sums(terms ? r_.terms : r_.value, terms, {b, h, g, i}, first, p, mask);
  }

  struct Place {
    std::int64_t b, h, g, i;
  };

  // Output and gradients of one row, or with `terms` the same sums over absolute values.
  void sums(PlainResult& r, bool terms, Place at_row, std::int64_t first,
            const std::vector<double>& p, const std::vector<float>& mask) const {
    const auto [b, h, g, i] = at_row;
    const std::int64_t width = q_.size(3), last = std::ssize(p) - 1;
    const auto size = [terms](double x) { return terms ? std::abs(x) : x; };
    auto q = q_.accessor<double, 4>()[b][h][i], d_o = gradient_.accessor<double, 4>()[b][h][i];
    auto k = k_.accessor<double, 4>()[b][g], v = v_.accessor<double, 4>()[b][g];
    auto o = r.output.accessor<double, 4>()[b][h][i], dq = r.q.accessor<double, 4>()[b][h][i];
    auto dk = r.k.accessor<double, 4>()[b][g], dv = r.v.accessor<double, 4>()[b][g];
    std::vector<double> dp(p.size(), 0.0);
    double delta = 0;
    for (std::int64_t j = first; j <= last; ++j) {
      for (std::int64_t c = 0; c < width; ++c) {
        o[c] += size(p[at(j)] * mask[at(j)] * v[j][c]);
        dv[j][c] += size(p[at(j)] * mask[at(j)] * d_o[c]);
        dp[at(j)] += size(mask[at(j)] * d_o[c] * v[j][c]);
      }
      delta += p[at(j)] * dp[at(j)];
    }
    for (std::int64_t j = first; j <= last; ++j) {
      const double ds = p[at(j)] * (terms ? dp[at(j)] + delta : dp[at(j)] - delta);
      for (std::int64_t c = 0; c < width; ++c) {
        dq[c] += size(ds * k[j][c] * options_.scale);
        dk[j][c] += size(ds * q[c] * options_.scale);
      }
      if (slopes_.defined())
        r.slopes.accessor<double, 1>()[h] += size(-ds * static_cast<double>(last - j));
      if (buckets_.defined()) r.buckets.accessor<double, 2>()[bucket(last - j)][h] += size(ds);
    }
  }

  ScoreOptions options_;
  torch::Tensor q_, k_, v_, gradient_, slopes_, buckets_;
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
                      slopes = leaf(o.slopes_H), buckets = leaf(o.buckets_NH);
  const std::int64_t queries = q.size(2), keys = k.size(2), share = q.size(1) / k.size(1);
  const torch::Tensor distance =
      torch::arange(keys - queries, keys).unsqueeze(1) - torch::arange(keys).unsqueeze(0);
  torch::Tensor s = q.matmul(k.repeat_interleave(share, 1).transpose(2, 3)) * o.scale;
  if (slopes.defined()) s = s - (slopes.view({-1, 1, 1}) * distance).to(s.scalar_type());
  if (buckets.defined()) {
    torch::Tensor index = torch::zeros_like(distance);
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) {
        index.accessor<std::int64_t, 2>()[i][j] =
            plain_bucket(std::max<std::int64_t>(0, distance.accessor<std::int64_t, 2>()[i][j]),
                         buckets.size(0), o.bucket_max_distance);
      }
    }
    s = s + buckets.index({index}).permute({2, 0, 1}).to(s.scalar_type());
  }
  torch::Tensor hidden = (distance < 0).view({1, 1, queries, keys});
  if (o.document_start_BT.defined()) {
    hidden = hidden | (torch::arange(keys) < o.document_start_BT.unsqueeze(2)).unsqueeze(1);
  }
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
  return {output.detach(), {}, q.grad(), k.grad(), v.grad(), grad(slopes), grad(buckets)};
}

}  // namespace alibi
