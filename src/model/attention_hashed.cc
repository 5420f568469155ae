// A round is a problem of its own for the tiled kernels: every (sequence, head) pair is a sequence
// of one head, whose positions are sorted. Biases go along as terms. Pairs that an earlier round
// shows are left out, so that each key counts once; rounds meet by their log-sum-exp, and the
// backward pass of each gets that of all. A query sees itself at no weight, so that each has some
// key; one that sees nothing else has its own value, by itself.
//
// Letters: R rounds, P = B H pairs, S positions, D width.
#include "model/attention_hashed.h"

#include "base/error.h"
#include "device/libtorch.h"
#include "model/attention_tiled.h"

namespace alibi {
namespace {

// Of a query's own key, on its score: no weight beside any other key.
constexpr double kOwnKey = -1e9;
// A log-sum-exp beside which no score has a weight.
constexpr double kNoWeight = 1e30;

// All heads of all sequences in one dimension, in one piece of memory.
torch::Tensor pairs_of(const torch::Tensor& x_BHSx) { return x_BHSx.contiguous().flatten(0, 1); }

// Positions of all pairs in the order of one round.
class SortedRound {
 public:
  SortedRound(const torch::Tensor& groups_RPS, std::int64_t round)
      : shape_(groups_RPS[round].sizes().vec()) {
    torch::Tensor order_PS;
    std::tie(groups_PS_, order_PS) = groups_RPS[round].sort(std::optional(true), 1);
    const torch::Tensor pair_P1 = torch::arange(shape_[0], order_PS.options()).unsqueeze(1);
    index_ = (order_PS + pair_P1 * shape_[1]).flatten();
    std::vector<torch::Tensor> earlier;
    for (std::int64_t r = 0; r < round; ++r) earlier.push_back(sorted(groups_RPS[r]));
    visible_.first_BT = first_keys();
    if (round > 0) visible_.left_out_RBS = torch::stack(earlier);
  }

  // By position -> in order, and back: (P, S, ...).
  torch::Tensor sorted(const torch::Tensor& x_PSx) const {
    return x_PSx.flatten(0, 1).index_select(0, index_).view(x_PSx.sizes());
  }
  torch::Tensor unsorted(const torch::Tensor& x_PSx) const {
    const torch::Tensor rows = x_PSx.contiguous().flatten(0, 1);
    return torch::empty_like(rows).index_copy_(0, index_, rows).view(x_PSx.sizes());
  }
  const VisibleKeys& visible() const { return visible_; }

  // Whether a position is the first of its bucket: it sees nothing else in this round.
  torch::Tensor alone() const { return unsorted(new_bucket(true)); }

  // Terms in order, each bucket's less a number of its own that lets it begin where the one before
  // ends. Only differences within a bucket matter; a tile takes the others as they are, to fp32,
  // and across a border they would grow with the length of the text.
  torch::Tensor sorted_terms(const torch::Tensor& terms_PS) const {
    const torch::Tensor in_order_PS = sorted(terms_PS);
    const torch::Tensor steps_PS = in_order_PS.diff(1, 1, in_order_PS.narrow(1, 0, 1));
    return in_order_PS - steps_PS.masked_fill(new_bucket(false).logical_not(), 0).cumsum(1);
  }

 private:
  torch::Tensor new_bucket(bool first) const {
    return changes_by([](const torch::Tensor& more) { return more > 1; }, first);
  }

  // Of each place but the first, what `test` says of how far its group's number is above the one
  // before.
  template <class Test>
  torch::Tensor changes_by(const Test& test, bool first) const {
    const std::int64_t rest = shape_[1] - 1;
    const torch::Tensor more = groups_PS_.narrow(1, 1, rest) - groups_PS_.narrow(1, 0, rest);
    return torch::cat({torch::full({shape_[0], 1}, first, torch::kBool), test(more)}, 1);
  }

  // The first place of the group before, if it is of the same bucket, else of a place's own group.
  torch::Tensor first_keys() const {
    const torch::Tensor place_S = torch::arange(shape_[1], groups_PS_.options());
    const torch::Tensor new_group =
        changes_by([](const torch::Tensor& more) { return more > 0; }, true);
    const torch::Tensor own_PS = std::get<0>((new_group * place_S).cummax(1));
    const torch::Tensor follows =
        changes_by([](const torch::Tensor& more) { return more == 1; }, false);
    // At a group's first place: that of the group which ends just before it.
    const torch::Tensor before_PS = own_PS.gather(1, (own_PS - 1).clamp_min(0));
    const torch::Tensor joined = follows.gather(1, own_PS);
    return torch::where(joined, before_PS, own_PS);
  }

  std::vector<std::int64_t> shape_;
  torch::Tensor groups_PS_, index_;
  VisibleKeys visible_;
};

// What a round asks of the tiled kernels.
AttentionProblem sorted_problem(AttentionProblem problem) {
  problem.sequences *= problem.heads;
  problem.heads = problem.key_value_heads = 1;
  problem.bias = {.slopes = false, .table = true, .terms = true, .rows = false};
  problem.hashed = problem.pattern = false;
  problem.documents = true;
  return problem;
}

const TileSet& tiles_for(const AttentionProblem& sorted) {
  const AttentionKernel& kernel = choose_attention(sorted, torch::kCPU, "auto");
  ensure(kernel.tiles != nullptr, "what is lacking was asked before");
  return *kernel.tiles;
}

// A call, all of whose tensors are by pair.
class HashedAttention {
 public:
  explicit HashedAttention(const AttentionInputs& inputs)
      : options_(inputs.options),
        tiles_(tiles_for(sorted_problem(describe_problem(inputs)))),
        heads_(inputs.q_BHTD.size(1)),
        q_PSD_(pairs_of(inputs.q_BHTD)),
        k_PSD_(pairs_of(inputs.k_BGSD)),
        v_PSD_(pairs_of(inputs.v_BGSD)),
        groups_RPS_(inputs.options.visible.groups.of_RBHS.flatten(1, 2)),
        own_12_(torch::tensor({{kOwnKey, 0.0}}, torch::kFloat)) {
    place_S_ = torch::arange(q_PSD_.size(1), torch::kDouble);
    terms_PS_ = torch::zeros({q_PSD_.size(0), q_PSD_.size(1)}, torch::kDouble);
    const ScoreBias& bias = options_.bias;
    if (bias.slopes_H.defined()) {  // - slope (i - j)
      const torch::Tensor slopes_H1 = bias.slopes_H.detach().to(torch::kDouble).unsqueeze(1);
      terms_PS_ -= (slopes_H1 * place_S_).repeat({q_PSD_.size(0) / heads_, 1});
    }
    if (bias.terms_BHS.defined()) terms_PS_ += pairs_of(bias.terms_BHS.detach());
  }

  AttentionOutputs forward() const {
    torch::Tensor output_PSD, lse_PS, alone_PS;
    for (std::int64_t number = 0; number < groups_RPS_.size(0); ++number) {
      const SortedRound round(groups_RPS_, number);
      const AttentionOutputs some = tiled_attention_forward(tiles_, sorted_inputs(round));
      const torch::Tensor here_PSD = round.unsorted(some.output_BHTD.squeeze(1)).to(torch::kFloat);
      const torch::Tensor log_PS = round.unsorted(some.lse_BHT.squeeze(1));
      if (number == 0) {
        output_PSD = here_PSD;
        lse_PS = log_PS;
        alone_PS = round.alone();
        continue;
      }
      const torch::Tensor all_PS = at::logaddexp(lse_PS, log_PS);
      output_PSD = output_PSD * (lse_PS - all_PS).exp().unsqueeze(2) +
                   here_PSD * (log_PS - all_PS).exp().unsqueeze(2);
      lse_PS = all_PS;
      alone_PS = alone_PS & round.alone();
    }
    const torch::Tensor own_PS =
        (q_PSD_.to(torch::kFloat) * k_PSD_.to(torch::kFloat)).sum(2).mul_(options_.scale);
    output_PSD = torch::where(alone_PS.unsqueeze(2), v_PSD_.to(torch::kFloat), output_PSD);
    return {by_head(output_PSD.to(q_PSD_.scalar_type())),
            by_head(torch::where(alone_PS, own_PS, lse_PS))};
  }

  AttentionGradients backward(const AttentionOutputs& outputs,
                              const torch::Tensor& gradient_BHTD) const {
    const torch::Tensor do_PSD = pairs_of(gradient_BHTD), out_PSD = pairs_of(outputs.output_BHTD);
    std::vector<SortedRound> rounds;
    torch::Tensor alone_PS;
    for (std::int64_t number = 0; number < groups_RPS_.size(0); ++number) {
      rounds.emplace_back(groups_RPS_, number);
      const torch::Tensor here = rounds.back().alone();
      alone_PS = alone_PS.defined() ? alone_PS & here : here;
    }
    // Its own value is all that a lone query's output depends on.
    const torch::Tensor lse_PS = pairs_of(outputs.lse_BHT).masked_fill(alone_PS, kNoWeight);
    const auto zeros = [&] { return torch::zeros(q_PSD_.sizes(), torch::kFloat); };
    torch::Tensor dq_PSD = zeros(), dk_PSD = zeros(), terms_PS = torch::zeros_like(terms_PS_);
    torch::Tensor dv_PSD = do_PSD.to(torch::kFloat) * alone_PS.unsqueeze(2);
    for (const SortedRound& round : rounds) {
      const auto sorted = [&](const torch::Tensor& x_PSx) {
        return round.sorted(x_PSx).unsqueeze(1);
      };
      const AttentionGradients some = tiled_attention_backward(
          tiles_, sorted_inputs(round), {sorted(out_PSD), sorted(lse_PS)}, sorted(do_PSD));
      dq_PSD += round.unsorted(some.q_BHTD.squeeze(1));
      dk_PSD += round.unsorted(some.k_BGSD.squeeze(1));
      dv_PSD += round.unsorted(some.v_BGSD.squeeze(1));
      if (terms_want_gradient()) terms_PS += round.unsorted(some.bias.terms_BHS.squeeze(1));
    }
    const auto type = q_PSD_.scalar_type();
    return {by_head(dq_PSD.to(type)), by_head(dk_PSD.to(type)), by_head(dv_PSD.to(type)),
            bias_gradient(terms_PS)};
  }

 private:
  torch::Tensor by_head(const torch::Tensor& x_PSx) const {
    return x_PSx.unflatten(0, {x_PSx.size(0) / heads_, heads_});
  }

  bool terms_want_gradient() const {
    return needs_gradient(options_.bias.slopes_H) || needs_gradient(options_.bias.terms_BHS);
  }

  AttentionInputs sorted_inputs(const SortedRound& round) const {
    const auto sorted = [&](const torch::Tensor& x_PSx) {
      return round.sorted(x_PSx).unsqueeze(1);
    };
    ScoreOptions options;
    options.scale = options_.scale;
    options.skip = options_.skip;
    options.visible = round.visible();
    options.bias.table_HL = own_12_;
    options.bias.terms_BHS =
        round.sorted_terms(terms_PS_).unsqueeze(1).set_requires_grad(terms_want_gradient());
    return {sorted(q_PSD_), sorted(k_PSD_), sorted(v_PSD_), options};
  }

  // Of c_i - c_j, c = - slope * place, to its slopes.
  ScoreBias bias_gradient(const torch::Tensor& terms_PS) const {
    const ScoreBias& bias = options_.bias;
    ScoreBias sums;
    if (needs_gradient(bias.slopes_H))
      sums.slopes_H =
          by_head((terms_PS * place_S_).sum(1).neg_()).sum(0).to(bias.slopes_H.scalar_type());
    if (needs_gradient(bias.terms_BHS))
      sums.terms_BHS = by_head(terms_PS).to(bias.terms_BHS.scalar_type());
    return sums;
  }

  const ScoreOptions& options_;
  const TileSet& tiles_;
  std::int64_t heads_;
  torch::Tensor q_PSD_, k_PSD_, v_PSD_, groups_RPS_;
  torch::Tensor own_12_;  // a table: of distance 0, and of all others
  torch::Tensor place_S_, terms_PS_;
};

}  // namespace

const char* hashed_attention_lacks(const AttentionProblem& p, torch::Device device) {
  if (!p.hashed) return "keys that are not hashed";
  if (p.queries != p.keys) return "hashed keys after a cache";
  if (p.bias.table || p.bias.rows) return "hashed keys with such a bias";
  const AttentionProblem sorted = sorted_problem(p);
  const char* lacks = nullptr;
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (kernel.tiles == nullptr) continue;
    lacks = kernel.lacks(sorted, device);
    if (lacks == nullptr) break;
  }
  return lacks;
}

AttentionOutputs hashed_attention_forward(const AttentionInputs& inputs) {
  const torch::NoGradGuard guard;
  return HashedAttention(inputs).forward();
}

AttentionGradients hashed_attention_backward(const AttentionInputs& inputs,
                                             const AttentionOutputs& outputs,
                                             const torch::Tensor& gradient_BHTD) {
  const torch::NoGradGuard guard;
  return HashedAttention(inputs).backward(outputs, gradient_BHTD);
}

}  // namespace alibi
