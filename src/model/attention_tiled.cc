#include "model/attention_tiled.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "kernels/attention_tiled.h"
#include "model/attention_rows.h"
#include "model/linear/spread.h"

namespace alibi {
namespace {

// With at least this many units a thread, units are the work items; else blocks are.
constexpr std::int64_t kUnitsPerThread = 4;

// Rows are prefetched so many blocks before they are read: those of the next unit in short texts.
constexpr std::int64_t kBlocksAhead = 4;

// Tensors a call works on, kept alive and in a layout the kernel reads.
struct Call {
  TiledAttention a;
  torch::Tensor q, k, v, slopes, table, reach, terms, least, least_so_far, starts, left_out;
  std::shared_ptr<const KeyRules> rules;
  std::vector<std::int64_t> order;  // units, most work first
};

// Sequence by sequence, whose rows stay in the cache from head to head; within one, the flattest
// slope first: it reaches farthest.
std::vector<std::int64_t> order_of_units(const TiledAttention& a) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.units()));
  std::iota(order.begin(), order.end(), 0);
  if (a.bias.slopes_H == nullptr) return order;
  const auto flattest = [&](std::int64_t unit) {
    const float* first = a.bias.slopes_H + unit % a.sizes.key_value_heads * a.group();
    return *std::min_element(first, first + a.group());
  };
  std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) {
    const auto place = [&](std::int64_t unit) {
      return std::pair(unit / a.sizes.key_value_heads, flattest(unit));
    };
    return place(x) < place(y);
  });
  return order;
}

void add_slopes(Call& call, const torch::Tensor& slopes_H) {
  call.slopes = slopes_H.detach().to(torch::kFloat).contiguous();
  call.a.bias.slopes_H = call.slopes.data_ptr<float>();
  // A learned slope may fall below 0, where far keys gain: what skips them counts on the opposite.
  if (call.slopes.min().item<float>() < 0) call.a.skip = SkipRule::kOff;
}

void add_table(Call& call, const torch::Tensor& table_HL) {
  call.table = (table_HL.detach().to(torch::kFloat) * kLog2E).contiguous();
  call.reach = std::get<0>(call.table.flip(1).cummax(1)).flip(1).contiguous();
  call.a.bias.table_HL = call.table.data_ptr<float>();
  call.a.bias.reach_HL = call.reach.data_ptr<float>();
  call.a.bias.distances = call.table.size(1);
}

void add_terms(Call& call, const torch::Tensor& terms_BHS) {
  TiledAttention& a = call.a;
  ensure(terms_BHS.size(2) == a.sizes.keys, "there is a term for every key");
  call.terms = terms_BHS.detach().to(torch::kDouble).contiguous();
  // Blocks that are short of keys are filled up.
  const std::int64_t before = a.missing_keys();
  const std::int64_t behind = a.key_blocks() * kTile - before - a.sizes.keys;
  const double never = std::numeric_limits<double>::infinity();
  call.least = at::constant_pad_nd(call.terms, {before, behind}, never)
                   .unflatten(2, {a.key_blocks(), kTile})
                   .amin(3)
                   .contiguous();
  call.least_so_far = std::get<0>(call.least.cummin(2)).contiguous();
  a.bias.terms_BHS = call.terms.data_ptr<double>();
  a.bias.least_BHN = call.least.data_ptr<double>();
  a.bias.least_so_far_BHN = call.least_so_far.data_ptr<double>();
}

void add_rules(Call& call, const std::shared_ptr<const KeyRules>& rules) {
  TiledAttention& a = call.a;
  call.rules = rules;
  a.rules = rules->rules().data();
  a.rule_of_each = rules->rules().size() > 1;
  ensure(!a.rule_of_each || std::ssize(rules->rules()) == a.sizes.heads,
         "one rule, or one for each head");
  ensure(rules->reaches(a.sizes.keys), "a list of blocks has a row for every query");
}

// `earlier`: keys that are packed already, before those of the inputs.
Call make_call(const TileSet& set, const AttentionInputs& inputs, std::int64_t earlier = 0) {
  Call call;
  const ScoreOptions& o = inputs.options;
  call.q = dense_rows(inputs.q_BHTD);
  call.k = dense_rows(inputs.k_BGSD);
  call.v = dense_rows(inputs.v_BGSD);
  TiledAttention& a = call.a;
  a.sizes = describe_problem(inputs);
  a.ops = a.sizes.scalar == ScalarKind::kBf16 ? set.bf16 : set.fp32;
  a.skip = o.skip;
  a.scale = static_cast<float>(o.scale);
  a.first_key_in_memory = earlier;
  a.sizes.keys += earlier;
  if (o.bias.slopes_H.defined()) add_slopes(call, o.bias.slopes_H);
  if (o.bias.table_HL.defined()) add_table(call, o.bias.table_HL);
  if (o.bias.terms_BHS.defined()) add_terms(call, o.bias.terms_BHS);
  if (o.visible.first_BT.defined()) {
    call.starts = o.visible.first_BT.contiguous();
    a.first_BT = call.starts.data_ptr<std::int64_t>();
  }
  if (o.visible.rules) add_rules(call, o.visible.rules);
  if (o.visible.left_out_RBS.defined()) {
    call.left_out = o.visible.left_out_RBS.contiguous();
    a.left_out_RBS = call.left_out.data_ptr<std::int64_t>();
    a.rounds_left_out = call.left_out.size(0);
  }
  a.q = head_rows<void>(call.q);
  a.k = head_rows<void>(call.k);
  a.v = head_rows<void>(call.v);
  call.order = order_of_units(a);
  return call;
}

// Runs item(i, scratch) for every item, by whichever thread is free.
template <class Item>
void spread(const TiledAttention& a, std::int64_t items, std::int64_t scratch_bytes,
            const Item& item) {
  alibi::spread(items, scratch_bytes, a.ops->release, item);
}

bool units_are_enough(const TiledAttention& a) {
  return a.units() >= kUnitsPerThread * at::get_num_threads();
}

// Scratch behind packed operands in one allocation.
void* behind(void* packed, std::int64_t packed_bytes) {
  return static_cast<char*>(packed) + packed_bytes;
}

void forward_by_units(const Call& call) {
  const TiledAttention& a = call.a;
  const std::int64_t packed_bytes = packed_keys_bytes(a);
  spread(a, a.units(), packed_bytes + forward_scratch_bytes(a), [&](std::int64_t i, void* packed) {
    const std::int64_t unit = call.order[static_cast<std::size_t>(i)];
    std::int64_t ready = 0;  // key blocks, packed just before the first queries that see them
    for (std::int64_t n = 0; n < a.unit_query_blocks(); ++n) {
      for (; ready <= a.blocks_before() + n % a.query_blocks(); ++ready) {
        pack_key_block(a, unit, ready, packed);
        reach_key_block(a, ready, packed);
      }
      const std::int64_t next = n + kBlocksAhead, behind_unit = next - a.unit_query_blocks();
      if (behind_unit < 0) {
        prefetch_block(a, unit, next);
      } else if (i + 1 < a.units()) {
        prefetch_block(a, call.order[static_cast<std::size_t>(i + 1)], behind_unit);
      }
      forward_block(a, unit, n, packed, behind(packed, packed_bytes));
    }
  });
}

// Packed operands of every unit, side by side.
struct PackedUnits {
  std::uint8_t* data;
  std::int64_t unit_bytes;
  void* of(std::int64_t unit) const { return data + unit * unit_bytes; }
};

// Packs the key blocks from `first` on.
void pack_keys(const TiledAttention& a, const PackedUnits& packed, std::int64_t first) {
  const std::int64_t blocks = a.key_blocks() - first;
  spread(a, a.units() * blocks, 0, [&](std::int64_t i, void*) {
    const std::int64_t unit = i / blocks;
    pack_key_block(a, unit, first + i % blocks, packed.of(unit));
  });
  spread(a, a.units(), 0, [&](std::int64_t unit, void*) {
    for (std::int64_t j = first; j < a.key_blocks(); ++j) reach_key_block(a, j, packed.of(unit));
  });
}

void forward_over(const Call& call, const PackedUnits& packed) {
  const TiledAttention& a = call.a;
  const std::int64_t blocks = a.unit_query_blocks();
  spread(a, a.units() * blocks, forward_scratch_bytes(a), [&](std::int64_t i, void* scratch) {
    const std::int64_t unit = call.order[static_cast<std::size_t>(i / blocks)];
    forward_block(a, unit, blocks - 1 - i % blocks, packed.of(unit), scratch);
  });
}

void forward_by_blocks(const Call& call) {
  const std::int64_t unit_bytes = packed_keys_bytes(call.a);
  const torch::Tensor memory = raw_bytes(call.a.units() * unit_bytes);
  const PackedUnits packed{memory.data_ptr<std::uint8_t>(), unit_bytes};
  pack_keys(call.a, packed, 0);
  forward_over(call, packed);
}

void backward_by_units(const Call& call) {
  const TiledAttention& a = call.a;
  const std::int64_t packed_bytes = packed_unit_bytes(a, true);
  spread(a, a.units(), packed_bytes + backward_scratch_bytes(a, true),
         [&](std::int64_t i, void* packed) {
           backward_unit(a, call.order[static_cast<std::size_t>(i)], packed,
                         behind(packed, packed_bytes));
         });
}

void backward_by_blocks(const Call& call) {
  const TiledAttention& a = call.a;
  const std::int64_t packed_bytes = packed_unit_bytes(a, false);
  const torch::Tensor memory = raw_bytes(a.units() * packed_bytes);
  const PackedUnits packed{memory.data_ptr<std::uint8_t>(), packed_bytes};
  const std::int64_t keys = a.key_blocks(), queries = a.unit_query_blocks();
  spread(a, a.units() * (keys + queries), 0, [&](std::int64_t i, void*) {
    const std::int64_t unit = i / (keys + queries), part = i % (keys + queries);
    part < keys ? pack_unit_keys(a, unit, part, packed.of(unit))
                : pack_unit_queries(a, unit, part - keys, packed.of(unit));
  });
  spread(a, a.units(), 0,
         [&](std::int64_t unit, void*) { finish_packed_unit(a, packed.of(unit)); });
  const std::int64_t parts = a.key_parts(), items = parts + queries;
  spread(
      a, a.units() * items, backward_scratch_bytes(a, false), [&](std::int64_t i, void* scratch) {
        const std::int64_t unit = call.order[static_cast<std::size_t>(i / items)];
        const std::int64_t part = i % items;
        part < parts
            ? backward_key_part(a, unit, part, packed.of(unit), scratch)
            : backward_query_block(a, unit, queries - 1 - (part - parts), packed.of(unit), scratch);
      });
}

}  // namespace

const char* tiled_attention_lacks(const TileSet& set, const AttentionProblem& p,
                                  torch::Device device) {
  if (!device.is_cpu()) return "devices";
  if (p.scalar == ScalarKind::kFp64) return "fp64";
  if (p.dropout) return "dropout";
  if (p.bias.rows) return "biases by row";
  if (p.hashed) return "hashed keys";
  if (p.head_width % 8 != 0 || p.head_width > 256)
    return "heads whose width is above 256 or no multiple of 8";
  const TileOps* const ops = p.scalar == ScalarKind::kBf16 ? set.bf16 : set.fp32;
  return ops->available() ? nullptr : "this processor";
}

AttentionOutputs tiled_attention_forward(const TileSet& set, const AttentionInputs& inputs,
                                         const torch::Tensor& visited_BHN) {
  Call call = make_call(set, inputs);
  AttentionOutputs outputs{
      rows_like(inputs.q_BHTD),
      torch::empty({inputs.q_BHTD.size(0), inputs.q_BHTD.size(1), inputs.q_BHTD.size(2)},
                   torch::TensorOptions(torch::kFloat))};
  call.a.output = head_rows<void>(outputs.output_BHTD);
  call.a.lse_BHT = outputs.lse_BHT.data_ptr<float>();
  if (visited_BHN.defined()) call.a.visited_BHN = visited_BHN.data_ptr<std::int32_t>();
  units_are_enough(call.a) ? forward_by_units(call) : forward_by_blocks(call);
  return outputs;
}

namespace {

// What the sums of a bias's gradient go to.
struct BiasParts {
  torch::Tensor slopes_BHN, table_BHPL, query_terms_BHT, key_terms_BHS;
};

BiasParts bias_parts(TiledAttention& a, const ScoreBias& bias) {
  const std::int64_t sequences = a.sizes.sequences, heads = a.sizes.heads;
  BiasParts parts;
  if (needs_gradient(bias.slopes_H)) {
    parts.slopes_BHN = torch::empty({sequences, heads, a.key_blocks()}, torch::kDouble);
    a.slope_parts_BHN = parts.slopes_BHN.data_ptr<double>();
  }
  if (needs_gradient(bias.table_HL)) {
    parts.table_BHPL =
        torch::zeros({sequences, heads, a.key_parts(), a.bias.distances}, torch::kDouble);
    a.table_parts_BHPL = parts.table_BHPL.data_ptr<double>();
  }
  if (needs_gradient(bias.terms_BHS)) {
    parts.query_terms_BHT = torch::empty({sequences, heads, a.sizes.queries}, torch::kDouble);
    parts.key_terms_BHS = torch::empty({sequences, heads, a.sizes.keys}, torch::kDouble);
    a.query_term_gradient_BHT = parts.query_terms_BHT.data_ptr<double>();
    a.key_term_gradient_BHS = parts.key_terms_BHS.data_ptr<double>();
  }
  return parts;
}

ScoreBias sum_of_parts(const BiasParts& parts, const ScoreBias& bias) {
  ScoreBias sums;
  if (parts.slopes_BHN.defined())
    sums.slopes_H = parts.slopes_BHN.sum(2).sum(0).to(bias.slopes_H.scalar_type());
  if (parts.table_BHPL.defined())
    sums.table_HL = parts.table_BHPL.sum(2).sum(0).to(bias.table_HL.scalar_type());
  if (parts.key_terms_BHS.defined())
    sums.terms_BHS = sum_of_terms(parts.query_terms_BHT, parts.key_terms_BHS, bias.terms_BHS);
  return sums;
}

}  // namespace

AttentionGradients tiled_attention_backward(const TileSet& set, const AttentionInputs& inputs,
                                            const AttentionOutputs& outputs,
                                            const torch::Tensor& gradient_BHTD) {
  Call call = make_call(set, inputs);
  TiledAttention& a = call.a;
  const torch::Tensor output = dense_rows(outputs.output_BHTD);
  const torch::Tensor gradient = dense_rows(gradient_BHTD), lse = outputs.lse_BHT.contiguous();
  AttentionGradients gradients = empty_gradients(inputs);
  a.output = head_rows<void>(output);
  a.lse_BHT = lse.data_ptr<float>();
  a.output_gradient = head_rows<void>(gradient);
  a.q_gradient = head_rows<void>(gradients.q_BHTD);
  a.k_gradient = head_rows<void>(gradients.k_BGSD);
  a.v_gradient = head_rows<void>(gradients.v_BGSD);
  BiasParts parts = bias_parts(a, inputs.options.bias);
  units_are_enough(a) ? backward_by_units(call) : backward_by_blocks(call);
  gradients.bias = sum_of_parts(parts, inputs.options.bias);
  return gradients;
}

torch::Tensor share_of_visited(const torch::Tensor& visited_BHN) {
  const std::int64_t blocks = visited_BHN.size(2);
  const torch::Tensor share_BH =
      visited_BHN.sum(2, false, torch::kDouble) / (static_cast<double>(blocks * (blocks + 1)) / 2);
  return share_BH.masked_fill(visited_BHN.eq(kNotCounted).any(2), NAN);
}

PackedKeyValues::PackedKeyValues(const TileSet& set, const AttentionProblem& whole)
    : set_(set), whole_(whole) {
  TiledAttention a;
  a.sizes = whole;
  a.ops = whole.scalar == ScalarKind::kBf16 ? set.bf16 : set.fp32;
  unit_bytes_ = packed_keys_bytes(a);
  packed_ = raw_bytes(a.units() * unit_bytes_);
}

torch::Tensor PackedKeyValues::attend(const AttentionInputs& chunk,
                                      const torch::Tensor& visited_BHN) {
  ensure(length_ % kTile == 0, "chunks before the last are whole blocks");
  Call call = make_call(set_, chunk, length_);
  TiledAttention& a = call.a;
  a.key_capacity = whole_.keys;
  torch::Tensor output = rows_like(chunk.q_BHTD);
  const torch::Tensor lse = torch::empty({output.size(0), output.size(1), output.size(2)});
  a.output = head_rows<void>(output);
  a.lse_BHT = lse.data_ptr<float>();
  if (visited_BHN.defined()) a.visited_BHN = visited_BHN.data_ptr<std::int32_t>();
  const PackedUnits packed{packed_.data_ptr<std::uint8_t>(), unit_bytes_};
  pack_keys(a, packed, length_ / kTile);
  forward_over(call, packed);
  length_ = a.sizes.keys;
  return output;
}

}  // namespace alibi
