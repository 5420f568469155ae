// Letters: T queries, S keys, D head width; R queries and C keys of a block. One head at a time:
//   s = q k^T scale + slope (j - i);  p = softmax(s);  o = p v
#include "bench/textbook_attention.h"

#include <algorithm>
#include <limits>

#include "device/exact_type.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

// One head of one sequence, in fp32 (fp64 for fp64).
class Head {
 public:
  Head(const AttentionInputs& inputs, std::int64_t b, std::int64_t h)
      : options_(inputs.options), h_(h) {
    const std::int64_t group = inputs.q_BHTD.size(1) / inputs.k_BGSD.size(1);
    const auto exact = exact_type(inputs.q_BHTD);
    q_TD = inputs.q_BHTD[b][h].to(exact);
    k_SD = inputs.k_BGSD[b][h / group].to(exact);
    v_SD = inputs.v_BGSD[b][h / group].to(exact);
    if (options_.visible.first_BT.defined()) start_T_ = options_.visible.first_BT[b];
  }

  // Scores of queries [query, query + rows) and keys [key, key + columns); -inf where unseen.
  torch::Tensor scores(std::int64_t query, std::int64_t rows, std::int64_t key,
                       std::int64_t columns) const {
    const std::int64_t offset = k_SD.size(0) - q_TD.size(0);
    const torch::Tensor i_R1 = torch::arange(query, query + rows).unsqueeze(1) + offset;
    const torch::Tensor j_C = torch::arange(key, key + columns);
    torch::Tensor s_RC =
        q_TD.narrow(0, query, rows).mm(k_SD.narrow(0, key, columns).t()) * options_.scale;
    if (options_.bias.slopes_H.defined())
      s_RC += options_.bias.slopes_H[h_].detach() * (j_C - i_R1);
    torch::Tensor unseen_RC = j_C > i_R1;
    if (start_T_.defined())
      unseen_RC = unseen_RC | (j_C < start_T_.narrow(0, query, rows).unsqueeze(1));
    return s_RC.masked_fill_(unseen_RC, -std::numeric_limits<double>::infinity());
  }

  torch::Tensor q_TD, k_SD, v_SD;

 private:
  const ScoreOptions& options_;
  std::int64_t h_;
  torch::Tensor start_T_;
};

void read(Traffic* traffic, std::int64_t numbers) {
  if (traffic != nullptr) traffic->reads += numbers;
}

void write(Traffic* traffic, std::int64_t numbers) {
  if (traffic != nullptr) traffic->writes += numbers;
}

struct HeadResult {
  torch::Tensor output_TD, lse_T;
};

HeadResult standard_head(const Head& head, Traffic* traffic) {
  const std::int64_t t = head.q_TD.size(0), s = head.k_SD.size(0), d = head.q_TD.size(1);
  // 1. S = Q K^T: read Q and K, write S.
  const torch::Tensor s_TS = head.scores(0, t, 0, s);
  read(traffic, t * d + s * d);
  write(traffic, t * s);
  // 2. P = softmax(S): read S, write P.
  const torch::Tensor lse_T = s_TS.logsumexp(1);
  const torch::Tensor p_TS = (s_TS - lse_T.unsqueeze(1)).exp();
  read(traffic, t * s);
  write(traffic, t * s);
  // 3. O = P V: read P and V, write O.
  read(traffic, t * s + s * d);
  write(traffic, t * d);
  return {p_TS.mm(head.v_SD), lse_T};
}

HeadResult flash_head(const Head& head, const FlashBlocks& blocks, Traffic* traffic) {
  const std::int64_t t = head.q_TD.size(0), s = head.k_SD.size(0), d = head.q_TD.size(1);
  const torch::Tensor o_TD = torch::zeros_like(head.q_TD);
  const torch::Tensor l_T = torch::zeros({t}, o_TD.options());
  const torch::Tensor m_T =
      torch::full({t}, -std::numeric_limits<double>::infinity(), o_TD.options());
  for (std::int64_t j = 0; j < s; j += blocks.keys) {
    const std::int64_t columns = std::min(blocks.keys, s - j);
    read(traffic, 2 * columns * d);  // K_j, V_j
    for (std::int64_t i = 0; i < t; i += blocks.queries) {
      const std::int64_t rows = std::min(blocks.queries, t - i);
      read(traffic, 2 * rows * d + 2 * rows);  // Q_i, O_i, l_i, m_i
      write(traffic, rows * d + 2 * rows);     // O_i, l_i, m_i
      const torch::Tensor s_RC = head.scores(i, rows, j, columns);
      torch::Tensor o = o_TD.narrow(0, i, rows), l = l_T.narrow(0, i, rows),
                    m = m_T.narrow(0, i, rows);
      const torch::Tensor highest = torch::maximum(m, s_RC.amax(1));
      // A row that has seen no key yet: exp(-inf - -inf) must be 0.
      const torch::Tensor base = highest.masked_fill(highest.isinf(), 0);
      const torch::Tensor p_RC = (s_RC - base.unsqueeze(1)).exp();
      const torch::Tensor kept = (m - base).exp();
      const torch::Tensor sum = kept * l + p_RC.sum(1);
      const torch::Tensor mixed =
          (kept * l).unsqueeze(1) * o + p_RC.mm(head.v_SD.narrow(0, j, columns));
      o.copy_(mixed / sum.masked_fill(sum == 0, 1).unsqueeze(1));
      l.copy_(sum);
      m.copy_(highest);
    }
  }
  return {o_TD, m_T + l_T.log()};
}

template <class OneHead>
AttentionOutputs forward_by_heads(const AttentionInputs& inputs, const OneHead& one_head) {
  const auto& q = inputs.q_BHTD;
  const auto exact = exact_type(q);
  AttentionOutputs outputs{torch::empty_like(q, torch::MemoryFormat::Contiguous),
                           torch::empty({q.size(0), q.size(1), q.size(2)}, exact)};
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    for (std::int64_t h = 0; h < q.size(1); ++h) {
      const HeadResult result = one_head(Head(inputs, b, h));
      outputs.output_BHTD[b][h].copy_(result.output_TD);
      outputs.lse_BHT[b][h].copy_(result.lse_T);
    }
  }
  return outputs;
}

}  // namespace

FlashBlocks flash_blocks(std::int64_t head_width, std::int64_t fast_numbers) {
  const std::int64_t keys = (fast_numbers + 4 * head_width - 1) / (4 * head_width);
  return {keys, std::min(keys, head_width)};
}

AttentionOutputs standard_attention_forward(const AttentionInputs& inputs, Traffic* traffic) {
  return forward_by_heads(inputs, [&](const Head& head) { return standard_head(head, traffic); });
}

AttentionOutputs flash_attention_forward(const AttentionInputs& inputs, std::int64_t fast_numbers,
                                         Traffic* traffic) {
  const FlashBlocks blocks = flash_blocks(inputs.q_BHTD.size(3), fast_numbers);
  return forward_by_heads(inputs,
                          [&](const Head& head) { return flash_head(head, blocks, traffic); });
}

}  // namespace alibi
