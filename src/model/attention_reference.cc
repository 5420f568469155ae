// For a chunk of R query rows:  s = q k^T scale + bias;  p = softmax(s);  o = (p * mask) v.
// Backward, from the stored log-sum-exp:  p = exp(s - lse);  dv = (p * mask)^T do;  dp = (do v^T) *
// mask; ds = p * (dp - rowsum(do * o));  dq = ds k scale;  dk = ds^T q scale;  dslope_h = sum ds *
// (j - i);  dtable_hd = sum of ds at distance d;  dc_n = sum of ds of query n - sum of ds of key n,
// of which the first is 0 but for rounding (kernels/attention_tiled.h).
//
// Letters: B sequences, H heads, G key/value heads, R rows of a chunk, S keys a chunk can see, D
// width, L distances of a table. All arithmetic is fp32 (fp64 for fp64 inputs), the bias from exact
// integer distances.
#include "model/attention.h"

#include <algorithm>

#include "device/exact_type.h"
#include "device/libtorch.h"
#include "model/dropout_mask.h"

namespace alibi {
namespace {

constexpr std::int64_t kLongestChunk = 128, kLongestDeviceChunk = 4096;
constexpr double kNever = -std::numeric_limits<double>::infinity();

class Reference {
 public:
  explicit Reference(const AttentionInputs& inputs)
      : options_(inputs.options),
        exact_(exact_type(inputs.q_BHTD)),
        q_BHTD_(inputs.q_BHTD.to(exact_).contiguous()),
        k_BGSD_(inputs.k_BGSD.to(exact_).contiguous()),
        v_BGSD_(inputs.v_BGSD.to(exact_).contiguous()),
        queries_(q_BHTD_.size(2)),
        keys_(k_BGSD_.size(2)) {}

  AttentionOutputs forward() {
    std::vector<torch::Tensor> outputs, lses;
    for (std::int64_t first = 0; first < queries_; first += chunk()) {
      set_chunk(first);
      torch::Tensor p_BHRS = scores();
      const torch::Tensor highest_BHR1 = p_BHRS.amax(3, true);
      const torch::Tensor sum_BHR1 = p_BHRS.sub_(highest_BHR1).exp_().sum(3, true);
      if (options_.dropout > 0) p_BHRS.mul_(mask());
      outputs.push_back(times(p_BHRS, values()).div_(sum_BHR1));
      lses.push_back((highest_BHR1 + sum_BHR1.log()).squeeze(3));
    }
    return {torch::cat(outputs, 2), torch::cat(lses, 2)};
  }

  AttentionGradients backward(const AttentionOutputs& outputs, const torch::Tensor& gradient_BHTD) {
    const torch::Tensor do_BHTD = gradient_BHTD.to(exact_).contiguous();
    const torch::Tensor delta_BHT = (do_BHTD * outputs.output_BHTD.to(exact_)).sum(3);
    AttentionGradients total{{}, torch::zeros_like(k_BGSD_), torch::zeros_like(v_BGSD_)};
    std::vector<torch::Tensor> dq;
    for (std::int64_t first = 0; first < queries_; first += chunk()) {
      set_chunk(first);
      const torch::Tensor do_BHRD = rows(do_BHTD);
      torch::Tensor p_BHRS = scores().sub_(rows(outputs.lse_BHT).unsqueeze(3)).exp_();
      torch::Tensor dp_BHRS = times(do_BHRD, values().transpose(2, 3));
      torch::Tensor kept_BHRS = p_BHRS;
      if (options_.dropout > 0) {
        const torch::Tensor mask_BHRS = mask();
        kept_BHRS = p_BHRS * mask_BHRS;
        dp_BHRS.mul_(mask_BHRS);
      }
      total.v_BGSD.narrow(2, 0, seen_).add_(transposed_times(kept_BHRS, do_BHRD));
      const torch::Tensor ds_BHRS = dp_BHRS.sub_(rows(delta_BHT).unsqueeze(3)).mul_(p_BHRS);
      dq.push_back(times(ds_BHRS, keys()).mul_(options_.scale));
      total.k_BGSD.narrow(2, 0, seen_)
          .add_(transposed_times(ds_BHRS, rows(q_BHTD_)), options_.scale);
      add_bias_gradients(ds_BHRS, total);
    }
    total.q_BHTD = torch::cat(dq, 2);
    return total;
  }

 private:
  std::int64_t chunk() const {
    // A function of both places is made of hidden units, some copies of each.
    constexpr std::int64_t kUnits = 128;
    const std::int64_t planes = q_BHTD_.size(0) * q_BHTD_.size(1);
    const std::int64_t row_bytes =
        (options_.bias.rows ? std::max(planes, kUnits) : planes) * keys_ * 4;
    const bool cuda = q_BHTD_.is_cuda();
    return std::clamp<std::int64_t>((cuda ? kReferenceDeviceChunkBytes : kReferenceChunkBytes) /
                                        std::max<std::int64_t>(row_bytes, 1),
                                    8, cuda ? kLongestDeviceChunk : kLongestChunk);
  }

  void set_chunk(std::int64_t first) {
    first_ = first;
    count_ = std::min(chunk(), queries_ - first);
    seen_ = keys_ - queries_ + first + count_;
  }

  torch::Tensor rows(const torch::Tensor& x_BHT) const { return x_BHT.narrow(2, first_, count_); }
  torch::Tensor keys() const { return k_BGSD_.narrow(2, 0, seen_); }
  torch::Tensor values() const { return v_BGSD_.narrow(2, 0, seen_); }

  // a (B, H, R, x) times b (B, G, x, y): the H / G heads of a group share one product.
  static torch::Tensor times(const torch::Tensor& a, const torch::Tensor& b) {
    const std::int64_t groups = b.size(1), per_group = a.size(1) / groups;
    const torch::Tensor grouped = a.reshape({a.size(0), groups, per_group * a.size(2), a.size(3)});
    return torch::matmul(grouped, b).view({a.size(0), a.size(1), a.size(2), b.size(3)});
  }

  // a^T b summed over each group's heads: (B, H, R, S), (B, H, R, D) -> (B, G, S, D).
  torch::Tensor transposed_times(const torch::Tensor& a, const torch::Tensor& b) const {
    const std::int64_t groups = k_BGSD_.size(1);
    const auto grouped = [groups](const torch::Tensor& x) {
      return x.reshape({x.size(0), groups, x.size(1) / groups * x.size(2), x.size(3)});
    };
    return torch::matmul(grouped(a).transpose(2, 3), grouped(b));
  }

  // Distance i - j of each query to each key, as int64 (R, S); negative: a future key.
  torch::Tensor distance() const {
    const auto options = torch::TensorOptions().dtype(torch::kLong).device(q_BHTD_.device());
    const std::int64_t position = keys_ - queries_ + first_;
    return torch::arange(position, position + count_, options).unsqueeze(1) -
           torch::arange(seen_, options).unsqueeze(0);
  }

  // The index of a distance in a table.
  static torch::Tensor table_place(const torch::Tensor& distance_RS, std::int64_t distances) {
    return distance_RS.clamp(0, distances - 1);
  }

  // Bias of each query row to each key, -inf where it is hidden: (B or 1, H or 1, R, S).
  torch::Tensor bias() const {
    const ScoreBias& bias = options_.bias;
    const torch::Tensor distance_RS = distance();
    torch::Tensor sum = torch::zeros({1, 1, 1, 1}, q_BHTD_.options());
    if (bias.slopes_H.defined()) {
      const torch::Tensor slopes_H = bias.slopes_H.detach().to(exact_);
      sum = sum - slopes_H.view({-1, 1, 1}) * distance_RS.to(exact_);
    }
    if (bias.table_HL.defined()) {
      const torch::Tensor table_LH = bias.table_HL.detach().to(exact_).t();
      const torch::Tensor place_RS = table_place(distance_RS, table_LH.size(0));
      sum = sum + table_LH.index({place_RS}).permute({2, 0, 1});
    }
    if (bias.terms_BHS.defined()) {
      const torch::Tensor terms_BHS = bias.terms_BHS.detach().to(torch::kDouble);
      const std::int64_t position = keys_ - queries_ + first_;
      sum = sum + (terms_BHS.narrow(2, position, count_).unsqueeze(3) -
                   terms_BHS.narrow(2, 0, seen_).unsqueeze(2))
                      .to(exact_);
    }
    if (bias.rows)
      sum = sum + bias.rows(keys_ - queries_ + first_, count_, seen_).detach().to(exact_);
    const torch::Tensor hidden =
        options_.visible.hidden({queries_, keys_, first_, count_, seen_}, q_BHTD_.device());
    return sum.masked_fill(hidden, kNever);
  }

  // q k^T scale + bias, one product per key/value head with its queries' heads side by side.
  torch::Tensor scores() const {
    const std::int64_t sequences = q_BHTD_.size(0), heads = q_BHTD_.size(1),
                       groups = k_BGSD_.size(1);
    const std::int64_t stacked = heads / groups * count_;
    const torch::Tensor some = bias();
    const torch::Tensor bias_BGRS = some.expand({some.size(0), heads, count_, seen_})
                                        .reshape({some.size(0), groups, stacked, seen_});
    const torch::Tensor q = rows(q_BHTD_).reshape({sequences * groups, stacked, q_BHTD_.size(3)});
    const torch::Tensor k = keys().reshape({sequences * groups, seen_, q_BHTD_.size(3)});
    const torch::Tensor start =
        bias_BGRS.expand({sequences, groups, stacked, seen_}).reshape({-1, stacked, seen_});
    return at::baddbmm(start, q, k.transpose(1, 2), 1, options_.scale)
        .view({sequences, heads, count_, seen_});
  }

  // The dropout mask of this chunk: element (b, h, i, j) depends on nothing but the key and (b, h,
  // i, j).
  torch::Tensor mask() const {
    const std::int64_t pairs = q_BHTD_.size(0) * q_BHTD_.size(1);
    const auto whole = q_BHTD_.options().dtype(torch::kLong);
    const torch::Tensor rows_PR = torch::arange(pairs, whole).unsqueeze(1) * queries_ +
                                  torch::arange(first_, first_ + count_, whole);
    return dropout_mask(options_.dropout_key, rows_PR.flatten(), seen_, options_.dropout)
        .view({q_BHTD_.size(0), q_BHTD_.size(1), count_, seen_})
        .to(q_BHTD_.scalar_type());
  }

  static void add(torch::Tensor& sum, const torch::Tensor& part) {
    sum = sum.defined() ? sum + part : part;
  }

  void add_bias_gradients(const torch::Tensor& ds_BHRS, AttentionGradients& total) const {
    const ScoreBias& bias = options_.bias;
    if (needs_gradient(bias.slopes_H)) {
      const torch::Tensor part_H = (ds_BHRS.sum(0) * distance().to(exact_)).sum({1, 2}).neg_();
      add(total.bias.slopes_H, part_H);
    }
    if (needs_gradient(bias.table_HL)) {
      const std::int64_t distances = bias.table_HL.size(1);
      const torch::Tensor ds_MH = ds_BHRS.sum(0).permute({1, 2, 0}).reshape({-1, ds_BHRS.size(1)});
      const torch::Tensor part_LH =
          torch::zeros({distances, ds_MH.size(1)}, ds_MH.options())
              .index_add_(0, table_place(distance(), distances).flatten(), ds_MH);
      add(total.bias.table_HL, part_LH.t());
    }
    if (needs_gradient(bias.terms_BHS)) {
      if (!total.bias.terms_BHS.defined()) total.bias.terms_BHS = torch::zeros_like(bias.terms_BHS);
      total.bias.terms_BHS.narrow(2, 0, seen_).sub_(ds_BHRS.sum(2));
      total.bias.terms_BHS.narrow(2, keys_ - queries_ + first_, count_).add_(ds_BHRS.sum(3));
    }
    if (bias.rows && bias.rows_need_gradient) {
      const at::AutoGradMode on(true);
      const torch::Tensor rows_HRS = bias.rows(keys_ - queries_ + first_, count_, seen_);
      torch::autograd::backward({rows_HRS}, {ds_BHRS.sum(0).to(rows_HRS.scalar_type())});
    }
  }

  ScoreOptions options_;
  torch::ScalarType exact_;
  torch::Tensor q_BHTD_, k_BGSD_, v_BGSD_;
  std::int64_t queries_, keys_;
  std::int64_t first_ = 0, count_ = 0, seen_ = 0;  // this chunk: its rows and the keys they see
};

}  // namespace

AttentionOutputs reference_attention_forward(const AttentionInputs& inputs) {
  const torch::NoGradGuard guard;
  AttentionOutputs outputs = Reference(inputs).forward();
  outputs.output_BHTD = outputs.output_BHTD.to(inputs.q_BHTD.scalar_type());
  return outputs;
}

AttentionGradients reference_attention_backward(const AttentionInputs& inputs,
                                                const AttentionOutputs& outputs,
                                                const torch::Tensor& gradient_BHTD) {
  const torch::NoGradGuard guard;
  AttentionGradients gradients = Reference(inputs).backward(outputs, gradient_BHTD);
  gradients.q_BHTD = gradients.q_BHTD.to(inputs.q_BHTD.scalar_type());
  gradients.k_BGSD = gradients.k_BGSD.to(inputs.k_BGSD.scalar_type());
  gradients.v_BGSD = gradients.v_BGSD.to(inputs.v_BGSD.scalar_type());
  return gradients;
}

}  // namespace alibi
