#include "model/attention_device.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/strings.h"
#include "device/device.h"
#include "device/device_graph.h"
#include "device/expect_queued.h"
#include "device/libtorch.h"
#include "kernels/attention_skip.h"
#include "model/attention_rows.h"
#include "model/shown_tiles.h"

namespace alibi {
namespace {

constexpr std::int64_t kMostGridRows = 65'535;  // blocks of a grid in y and z
constexpr std::int64_t kAligned = 8;            // numbers of bf16 in 16 bytes, which loads take

int number(std::int64_t size) { return static_cast<int>(size); }

// Of a pattern, in the memory of a device.
struct Pattern {
  std::weak_ptr<const KeyRules> rules;
  std::int64_t queries = 0, keys = 0;
  torch::Tensor until, from, shown, masks;
};

// What a call works on, kept alive until it is queued.
struct Call {
  DeviceAttention a;
  torch::Tensor q, k, v, starts, reach, workspace;
  torch::Tensor slopes, table, table_reach, terms, least, near;
  Pattern pattern = {};
};

torch::Tensor aligned_rows(const torch::Tensor& x_BHTD) {
  bool fits = x_BHTD.stride(3) == 1 &&
              reinterpret_cast<std::uintptr_t>(x_BHTD.data_ptr()) % (2 * kAligned) == 0;
  for (int d = 0; d < 3; ++d) fits = fits && x_BHTD.stride(d) % kAligned == 0;
  return fits ? x_BHTD : x_BHTD.clone(torch::MemoryFormat::Contiguous);
}

DeviceRows device_rows(const torch::Tensor& x_BHTD) { return head_rows<std::uint16_t>(x_BHTD); }

void expect_attention(const DeviceQueue& queue, int code) {
  expect_queued(*queue.module, code, "an attention kernel",
                "set runtime.attention.kernel to \"reference\"");
}

void add_slopes(const CudaModule& module, Call& call, const torch::Tensor& slopes_H) {
  const torch::Tensor slopes = slopes_H.detach().to(call.q.device(), torch::kFloat);
  call.slopes = (slopes * module.score_unit).contiguous();
  call.a.slopes_H = call.slopes.data_ptr<float>();
}

// A bias by distance of any form as one padded table.
void add_table(const CudaModule& module, Call& call, const ScoreBias& bias) {
  DeviceAttention& a = call.a;
  const auto whole = torch::TensorOptions(torch::kLong).device(call.q.device());
  const torch::Tensor distance_P =
      torch::arange(-kTableBefore, a.keys + kTableBehind, whole).clamp(0, a.keys - 1);
  const auto exact = [&](const torch::Tensor& x) {
    return x.detach().to(call.q.device(), torch::kDouble) * module.score_unit;
  };
  torch::Tensor table_HP;
  if (bias.table_HL.defined())
    table_HP =
        exact(bias.table_HL).index_select(1, distance_P.clamp_max(bias.table_HL.size(1) - 1));
  if (bias.slopes_H.defined()) {
    const torch::Tensor line_HP = exact(bias.slopes_H).unsqueeze(1) * -distance_P;
    table_HP = table_HP.defined() ? table_HP + line_HP : line_HP;
  }
  if (!table_HP.defined())  // beside a pattern there may be no bias
    table_HP = torch::zeros({a.heads, a.table_length()}, whole.dtype(torch::kDouble));
  call.table = table_HP.to(torch::kFloat).contiguous();
  a.table_HP = call.table.data_ptr<float>();
  if (a.threshold < 0) return;
  call.table_reach = std::get<0>(call.table.flip(1).cummax(1)).flip(1).contiguous();
  a.table_reach_HP = call.table_reach.data_ptr<float>();
}

// (..., 2): TermPair.
torch::Tensor term_pairs(const torch::Tensor& x) {
  const torch::Tensor high = x.to(torch::kFloat);
  return torch::stack({high, (x - high).to(torch::kFloat)}, -1).contiguous();
}

const TermPair* pairs_of(const torch::Tensor& x) {
  static_assert(sizeof(TermPair) == 2 * sizeof(float));
  return reinterpret_cast<const TermPair*>(x.data_ptr<float>());
}

void add_terms(const CudaModule& module, Call& call, const torch::Tensor& terms_BHS) {
  DeviceAttention& a = call.a;
  ensure(terms_BHS.size(2) == a.keys, "there is a term for every key");
  const torch::Tensor all = terms_BHS.detach().to(torch::kDouble) * module.score_unit;
  // Blocks that are short of keys are filled up.
  const std::int64_t behind = std::int64_t{a.key_blocks()} * kKeyBlock - a.keys;
  const torch::Tensor blocks_BHNK =
      at::constant_pad_nd(all, {0, behind}, std::numeric_limits<double>::infinity())
          .unflatten(2, {a.key_blocks(), kKeyBlock});
  call.terms = term_pairs(all);
  call.near = (blocks_BHNK - blocks_BHNK.narrow(3, 0, 1)).to(torch::kFloat).contiguous();
  a.terms_BHS = pairs_of(call.terms);
  a.near_BHS = call.near.data_ptr<float>();
  if (a.threshold < 0) return;
  call.least = term_pairs(std::get<0>(blocks_BHNK.amin(3).cummin(2)));
  a.least_BHN = pairs_of(call.least);
}

void add_bias(const CudaModule& module, Call& call, const AttentionInputs& inputs) {
  const ScoreBias& bias = inputs.options.bias;
  const bool some = bias.slopes_H.defined() || bias.table_HL.defined() || bias.terms_BHS.defined();
  if (some && module.forward_rows != nullptr)
    call.a.threshold = skip_threshold(inputs.options.skip, call.a.keys);
  switch (device_bias_kind(describe_problem(inputs))) {
    case BiasKind::kSlopes:
      if (some) add_slopes(module, call, bias.slopes_H);
      return;
    case BiasKind::kTable:
    case BiasKind::kShownTable:
      return add_table(module, call, bias);
    case BiasKind::kTerms:
      return add_terms(module, call, bias.terms_BHS);
  }
}

Pattern make_pattern(const std::shared_ptr<const KeyRules>& rules, const DeviceAttention& a,
                     torch::Device device) {
  ensure(rules->reaches(a.keys), "a list of blocks has a row for every query");
  const ShownTiles tiles = shown_tiles(rules->rules(), a.queries, a.keys);
  const auto on_device = [&](const auto& numbers, torch::ScalarType type) {
    return torch::from_blob(const_cast<void*>(static_cast<const void*>(numbers.data())),
                            {std::ssize(numbers)}, torch::TensorOptions(type))
        .to(device, /*non_blocking=*/false, /*copy=*/true);
  };
  return {rules,
          a.queries,
          a.keys,
          on_device(tiles.until_RMN, torch::kInt),
          on_device(tiles.from_RNM, torch::kInt),
          on_device(tiles.shown_RMN, torch::kInt),
          on_device(tiles.masks, torch::kLong)};
}

// Made once for rules and a length, and kept for the lengths that were used last, until a call
// finds that the rules are gone: on a device a tile of a rule takes 12 bytes.
Pattern pattern_of(const std::shared_ptr<const KeyRules>& rules, const DeviceAttention& a,
                   torch::Device device) {
  static std::mutex mutex;
  static std::vector<Pattern> kept;
  const std::lock_guard lock(mutex);
  std::erase_if(kept, [](const Pattern& one) { return one.rules.expired(); });
  const auto known = std::ranges::find_if(kept, [&](const Pattern& one) {
    return one.rules.lock() == rules && one.queries == a.queries && one.keys == a.keys &&
           one.shown.device() == device;
  });
  if (known != kept.end()) {
    std::rotate(known, known + 1, kept.end());  // used last
    return kept.back();
  }
  constexpr std::ptrdiff_t kLengths = 4;
  const auto of_rules = [&](const Pattern& one) { return one.rules.lock() == rules; };
  if (std::ranges::count_if(kept, of_rules) == kLengths)
    kept.erase(std::ranges::find_if(kept, of_rules));
  kept.push_back(make_pattern(rules, a, device));
  return kept.back();
}

void add_pattern(Call& call, const std::shared_ptr<const KeyRules>& rules) {
  DeviceAttention& a = call.a;
  call.pattern = pattern_of(rules, a, call.q.device());
  for (const auto* made :
       {&call.pattern.until, &call.pattern.from, &call.pattern.shown, &call.pattern.masks})
    keep_for_graph(*made);
  a.rules = number(std::ssize(rules->rules()));
  ensure(a.rules == 1 || a.rules == a.heads, "one rule, or one for each head");
  a.shown_until_RMN = call.pattern.until.data_ptr<std::int32_t>();
  a.shown_from_RNM = call.pattern.from.data_ptr<std::int32_t>();
  a.shown_RMN = call.pattern.shown.data_ptr<std::int32_t>();
  a.shown_masks =
      reinterpret_cast<const std::uint64_t*>(call.pattern.masks.data_ptr<std::int64_t>());
}

Call make_call(const CudaModule& module, const AttentionInputs& inputs) {
  const ScoreOptions& o = inputs.options;
  Call call{.a = {},
            .q = aligned_rows(inputs.q_BHTD),
            .k = aligned_rows(inputs.k_BGSD),
            .v = aligned_rows(inputs.v_BGSD),
            .starts = {},
            .reach = {},
            .workspace = {},
            .slopes = {},
            .table = {},
            .table_reach = {},
            .terms = {},
            .least = {},
            .near = {}};
  DeviceAttention& a = call.a;
  a.sequences = number(call.q.size(0));
  a.heads = number(call.q.size(1));
  a.key_value_heads = number(call.k.size(1));
  a.queries = number(call.q.size(2));
  a.keys = number(call.k.size(2));
  a.width = number(call.q.size(3));
  a.scale = static_cast<float>(o.scale * module.score_unit);
  add_bias(module, call, inputs);
  if (o.visible.rules) add_pattern(call, o.visible.rules);
  if (o.visible.first_BT.defined()) {
    call.starts = o.visible.first_BT.contiguous();
    a.start_BT = call.starts.data_ptr<std::int64_t>();
  }
  a.q = device_rows(call.q);
  a.k = device_rows(call.k);
  a.v = device_rows(call.v);
  return call;
}

// What the forward left out, where anything may be.
torch::Tensor first_blocks(const DeviceQueue& queue, DeviceAttention& a, torch::Device device) {
  if (a.threshold < 0) return {};
  a.first_rows = queue.module->forward_rows(a.width, a.bias_kind());
  const int blocks = (a.queries + a.first_rows - 1) / a.first_rows;
  return torch::empty({a.sequences, a.heads, blocks},
                      torch::TensorOptions(torch::kInt).device(device));
}

// What the backward fills beside gradients of rows.
struct BiasSums {
  torch::Tensor distances_BHXU, query_terms_BHT, key_terms_BHS;
};

BiasSums bias_sums(DeviceAttention& a, const ScoreBias& bias) {
  const auto on_device = [](const torch::Tensor& x) {
    return torch::TensorOptions(torch::kFloat).device(x.device());
  };
  BiasSums sums;
  if (a.table_HP != nullptr && bias.needs_gradient()) {
    const torch::Tensor& like = bias.table_HL.defined() ? bias.table_HL : bias.slopes_H;
    sums.distances_BHXU =
        torch::empty({a.sequences, a.heads, a.distance_blocks(), 2 * kKeyBlock}, on_device(like));
    a.distance_gradient_BHXU = sums.distances_BHXU.data_ptr<float>();
  }
  if (needs_gradient(bias.terms_BHS)) {
    sums.query_terms_BHT =
        torch::empty({a.sequences, a.heads, a.queries}, on_device(bias.terms_BHS));
    sums.key_terms_BHS = torch::zeros({a.sequences, a.heads, a.keys}, on_device(bias.terms_BHS));
    a.query_term_gradient_BHT = sums.query_terms_BHT.data_ptr<float>();
    a.key_term_gradient_BHS = sums.key_terms_BHS.data_ptr<float>();
  }
  return sums;
}

// (H, S) fp64: by distance, from the sums of neighbouring blocks, of which the second half of one
// and the first of the next are of the same distances.
torch::Tensor by_distance(const DeviceAttention& a, const torch::Tensor& sums_BHXU) {
  const torch::Tensor sums_HXU = sums_BHXU.sum(0, false, torch::kDouble);
  const torch::Tensor low = sums_HXU.narrow(2, 0, kKeyBlock),
                      high = sums_HXU.narrow(2, kKeyBlock, kKeyBlock);
  const torch::Tensor all =
      (at::constant_pad_nd(low, {0, 0, 0, 1}) + at::constant_pad_nd(high, {0, 0, 1, 0})).flatten(1);
  const int first = a.offset() - (a.blocks_before() + 1) * kKeyBlock;  // distance of the first
  return all.narrow(1, -first, a.keys);
}

// Of a table whose last place stands for all distances from there on. By sums: LibTorch adds to one
// index many times over, one number after another, where bits must be the same twice.
torch::Tensor by_place(const torch::Tensor& sums_HS, std::int64_t places) {
  const std::int64_t keys = sums_HS.size(1);
  if (keys <= places) return at::constant_pad_nd(sums_HS, {0, places - keys});
  const torch::Tensor last_H1 = sums_HS.narrow(1, places - 1, keys - places + 1).sum(1, true);
  return torch::cat({sums_HS.narrow(1, 0, places - 1), last_H1}, 1);
}

ScoreBias bias_gradients(const DeviceAttention& a, const BiasSums& sums, const ScoreBias& bias) {
  ScoreBias gradients;
  if (sums.key_terms_BHS.defined())
    gradients.terms_BHS = sum_of_terms(sums.query_terms_BHT, sums.key_terms_BHS, bias.terms_BHS);
  if (!sums.distances_BHXU.defined()) return gradients;
  const torch::Tensor sums_HS = by_distance(a, sums.distances_BHXU);
  if (needs_gradient(bias.slopes_H)) {
    const torch::Tensor distance_S =
        torch::arange(a.keys, torch::TensorOptions(torch::kLong).device(sums_HS.device()));
    gradients.slopes_H = (sums_HS * distance_S).sum(1).neg().to(bias.slopes_H.scalar_type());
  }
  if (needs_gradient(bias.table_HL))
    gradients.table_HL = by_place(sums_HS, bias.table_HL.size(1)).to(bias.table_HL.scalar_type());
  return gradients;
}

void add_workspace(const DeviceQueue& queue, Call& call, bool backward) {
  if (queue.module->workspace == nullptr) return;
  const std::int64_t bytes = queue.module->workspace(call.a, backward);
  expect_attention(queue, bytes < 0 ? 1 : 0);
  call.workspace =
      torch::empty({bytes}, torch::TensorOptions(torch::kByte).device(call.q.device()));
  call.a.workspace = call.workspace.data_ptr();
}

}  // namespace

DeviceQueue current_queue(const CudaKernels& kernels, torch::Device device) {
  if (kernels.module == nullptr) throw Error("CUDA kernels", kernels.reason);
  return {kernels.module, current_stream(device)};
}

BiasKind device_bias_kind(const AttentionProblem& p) {
  if (p.pattern) return BiasKind::kShownTable;
  if (p.bias.terms) return BiasKind::kTerms;
  const bool table = p.bias.table || (p.bias.slopes && p.bias_gradient);
  return table ? BiasKind::kTable : BiasKind::kSlopes;
}

const char* device_attention_lacks(const AttentionProblem& p) {
  if (p.scalar != ScalarKind::kBf16) return "precisions other than bf16";
  if (p.dropout) return "dropout";
  if (p.bias.rows) return "biases by row";
  if (p.bias.terms && (p.bias.slopes || p.bias.table))
    return "biases of queries and keys beside others";
  if (p.hashed) return "hashed keys";
  if (p.pattern && p.bias.terms) return "patterns of keys beside biases of queries and keys";
  // Nor token by token, where each length would need maps of its own.
  if (p.pattern &&
      ((p.keys - p.queries) % kKeyBlock != 0 || (p.queries < p.keys && p.queries < kKeyBlock)))
    return "patterns of keys for a few queries behind a cache, or behind one that is no whole "
           "blocks";
  if (p.pattern_by_documents) return "global keys of packed documents";
  if (p.head_width % 8 != 0 || p.head_width > 256) return "heads of this width";
  const bool fits = p.sequences <= kMostGridRows && p.heads <= kMostGridRows &&
                    p.keys <= std::numeric_limits<int>::max() / 2;
  return fits ? nullptr : "so many sequences, heads or keys";
}

const char* cudnn_attention_lacks(const AttentionProblem& p) {
  if (const char* const lack = device_attention_lacks(p)) return lack;
  if (const char* const lack = lacks_beyond_fixed_slopes(p)) return lack;
  if (p.documents) return "packed documents";
  // Its backward refuses sequences of one token.
  return p.queries == p.keys && p.queries > 1 ? nullptr : "queries that are not the keys' own";
}

AttentionOutputs device_attention_forward(const DeviceQueue& queue, const AttentionInputs& inputs) {
  Call call = make_call(*queue.module, inputs);
  DeviceAttention& a = call.a;
  const torch::Device device = call.q.device();
  const auto fp32 = torch::TensorOptions(torch::kFloat).device(device);
  AttentionOutputs outputs{rows_like(inputs.q_BHTD),
                           torch::empty({a.sequences, a.heads, a.queries}, fp32),
                           first_blocks(queue, a, device)};
  a.output = device_rows(outputs.output_BHTD);
  a.lse_BHT = outputs.lse_BHT.data_ptr<float>();
  if (outputs.first_BHM.defined()) {
    a.first_BHM = outputs.first_BHM.data_ptr<std::int32_t>();
    call.reach = torch::empty({a.sequences, a.key_value_heads, a.key_blocks()}, fp32);
    a.reach_BGN = call.reach.data_ptr<float>();
    expect_attention(queue, queue.module->key_reach(a, call.reach.data_ptr<float>(), queue.stream));
  }
  add_workspace(queue, call, /*backward=*/false);
  expect_attention(queue, queue.module->forward(a, queue.stream));
  return outputs;
}

AttentionGradients device_attention_backward(const DeviceQueue& queue,
                                             const AttentionInputs& inputs,
                                             const AttentionOutputs& outputs,
                                             const torch::Tensor& gradient_BHTD) {
  Call call = make_call(*queue.module, inputs);
  DeviceAttention& a = call.a;
  const torch::Tensor output = aligned_rows(outputs.output_BHTD);
  const torch::Tensor gradient = aligned_rows(gradient_BHTD), lse = outputs.lse_BHT.contiguous();
  const torch::Tensor delta = torch::empty_like(lse);
  AttentionGradients gradients = empty_gradients(inputs);
  a.output = device_rows(output);
  a.output_gradient = device_rows(gradient);
  a.lse_BHT = lse.data_ptr<float>();
  a.delta_BHT = delta.data_ptr<float>();
  a.q_gradient = device_rows(gradients.q_BHTD);
  a.k_gradient = device_rows(gradients.k_BGSD);
  a.v_gradient = device_rows(gradients.v_BGSD);
  if (outputs.first_BHM.defined()) {
    a.first_BHM = outputs.first_BHM.data_ptr<std::int32_t>();
    a.first_rows = queue.module->forward_rows(a.width, a.bias_kind());
  }
  const ScoreBias& bias = inputs.options.bias;
  const BiasSums sums = bias_sums(a, bias);
  add_workspace(queue, call, /*backward=*/true);
  expect_attention(queue, queue.module->backward(a, queue.stream));
  gradients.bias = bias_gradients(a, sums, bias);
  return gradients;
}

}  // namespace alibi
