// Letters: T queries, S keys, D head width; R queries and C keys of a block. One head at a time:
//   s = q k^T scale + slope (j - i);  p = softmax(s);  o = p v
#include "bench/textbook_attention.h"

#include <algorithm>
#include <array>
#include <limits>

#include "device/libtorch.h"

namespace alibi {
namespace {

// The standard algorithm holds T x S tables: not for long sequences.
constexpr std::int64_t kLongestTable = 4096;

// One head of one sequence, in fp32 (fp64 for fp64).
class Head {
 public:
  Head(const AttentionInputs& inputs, std::int64_t b, std::int64_t h)
      : options_(inputs.options), h_(h) {
    const std::int64_t group = inputs.q_BHTD.size(1) / inputs.k_BGSD.size(1);
    const auto exact =
        inputs.q_BHTD.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
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

  double scale() const { return options_.scale; }
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

// Gradients of one head from blocks of `rows` queries by `columns` keys.
struct HeadGradients {
  torch::Tensor q_TD, k_SD, v_SD;
};

HeadGradients head_backward(const Head& head, const torch::Tensor& o_TD, const torch::Tensor& lse_T,
                            const torch::Tensor& do_TD, const FlashBlocks& blocks) {
  HeadGradients g{torch::zeros_like(head.q_TD), torch::zeros_like(head.k_SD),
                  torch::zeros_like(head.v_SD)};
  const torch::Tensor delta_T = (do_TD * o_TD).sum(1);
  for (std::int64_t j = 0; j < head.k_SD.size(0); j += blocks.keys) {
    const std::int64_t columns = std::min(blocks.keys, head.k_SD.size(0) - j);
    for (std::int64_t i = 0; i < head.q_TD.size(0); i += blocks.queries) {
      const std::int64_t rows = std::min(blocks.queries, head.q_TD.size(0) - i);
      const auto of_rows = [&](const torch::Tensor& x) { return x.narrow(0, i, rows); };
      const auto of_columns = [&](const torch::Tensor& x) { return x.narrow(0, j, columns); };
      const torch::Tensor p_RC =
          (head.scores(i, rows, j, columns) - of_rows(lse_T).unsqueeze(1)).exp();
      of_columns(g.v_SD) += p_RC.t().mm(of_rows(do_TD));
      const torch::Tensor dp_RC = of_rows(do_TD).mm(of_columns(head.v_SD).t());
      const torch::Tensor ds_RC = p_RC * (dp_RC - of_rows(delta_T).unsqueeze(1)) * head.scale();
      of_rows(g.q_TD) += ds_RC.mm(of_columns(head.k_SD));
      of_columns(g.k_SD) += ds_RC.t().mm(of_rows(head.q_TD));
    }
  }
  return g;
}

template <class OneHead>
AttentionOutputs forward_by_heads(const AttentionInputs& inputs, const OneHead& one_head) {
  const auto& q = inputs.q_BHTD;
  const auto exact = q.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
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

AttentionGradients backward_by_heads(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                     const torch::Tensor& gradient_BHTD,
                                     const FlashBlocks& blocks) {
  const auto& q = inputs.q_BHTD;
  const std::int64_t group = q.size(1) / inputs.k_BGSD.size(1);
  const auto exact = q.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  AttentionGradients total{torch::empty(q.sizes(), exact),
                           torch::zeros(inputs.k_BGSD.sizes(), exact),
                           torch::zeros(inputs.v_BGSD.sizes(), exact)};
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    for (std::int64_t h = 0; h < q.size(1); ++h) {
      const HeadGradients g =
          head_backward(Head(inputs, b, h), outputs.output_BHTD[b][h].to(exact),
                        outputs.lse_BHT[b][h], gradient_BHTD[b][h].to(exact), blocks);
      total.q_BHTD[b][h].copy_(g.q_TD);
      total.k_BGSD[b][h / group] += g.k_SD;
      total.v_BGSD[b][h / group] += g.v_SD;
    }
  }
  const auto type = q.scalar_type();
  return {total.q_BHTD.to(type), total.k_BGSD.to(type), total.v_BGSD.to(type)};
}

const char* flash_lacks(const AttentionProblem& p, torch::Device device) {
  if (!device.is_cpu()) return "devices";
  if (p.dropout) return "dropout";
  return lacks_beyond_fixed_slopes(p);
}

const char* standard_lacks(const AttentionProblem& p, torch::Device device) {
  const char* const lack = flash_lacks(p, device);
  return lack == nullptr && p.keys > kLongestTable ? "tables of so many keys" : lack;
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

std::span<const AttentionKernel> textbook_kernels() {
  static constexpr std::array<AttentionKernel, 2> kernels = {{
      {"flash", flash_lacks,
       [](const AttentionInputs& inputs) { return flash_attention_forward(inputs); },
       [](const AttentionInputs& inputs, const AttentionOutputs& outputs,
          const torch::Tensor& gradient_BHTD) {
         return backward_by_heads(inputs, outputs, gradient_BHTD,
                                  flash_blocks(inputs.q_BHTD.size(3), kFastNumbers));
       },
       /*automatic=*/false},
      {"standard", standard_lacks,
       [](const AttentionInputs& inputs) { return standard_attention_forward(inputs); },
       [](const AttentionInputs& inputs, const AttentionOutputs& outputs,
          const torch::Tensor& gradient_BHTD) {
         return backward_by_heads(inputs, outputs, gradient_BHTD,
                                  {inputs.k_BGSD.size(2), inputs.q_BHTD.size(2)});
       },
       /*automatic=*/false},
  }};
  return kernels;
}

}  // namespace alibi
