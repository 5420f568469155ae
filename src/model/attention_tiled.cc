#include "model/attention_tiled.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "kernels/attention_tiled.h"
#include "model/attention_rows.h"
#include "products/spread.h"

namespace alibi {
namespace {

// With at least this many units a thread, units are the work items; else blocks are.
constexpr std::int64_t kUnitsPerThread = 4;

// Tensors a call works on, kept alive and in a layout the kernel reads.
struct Call {
  TiledAttention a;
  torch::Tensor q, k, v, slopes, starts;
  std::vector<std::int64_t> order;  // units, most work first
};

HeadRows head_rows(const torch::Tensor& x_BHTD) {
  return {x_BHTD.data_ptr(), x_BHTD.stride(0), x_BHTD.stride(1), x_BHTD.stride(2)};
}

// Sequence by sequence, whose rows stay in the cache from head to head; within one, the flattest
// slope first: it reaches farthest.
std::vector<std::int64_t> order_of_units(const TiledAttention& a) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.units()));
  std::iota(order.begin(), order.end(), 0);
  if (a.slopes_H == nullptr) return order;
  const auto flattest = [&](std::int64_t unit) {
    const float* first = a.slopes_H + unit % a.sizes.key_value_heads * a.group();
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

Call make_call(const TileSet& set, const AttentionInputs& inputs) {
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
  if (o.slopes_H.defined()) {
    call.slopes = o.slopes_H.detach().to(torch::kFloat).contiguous();
    a.slopes_H = call.slopes.data_ptr<float>();
    // A learned slope may fall below 0, where far keys gain: what skips them counts on the
    // opposite.
    if (call.slopes.min().item<float>() < 0) a.skip = SkipRule::kOff;
  }
  if (o.document_start_BT.defined()) {
    call.starts = o.document_start_BT.contiguous();
    a.document_start_BT = call.starts.data_ptr<std::int64_t>();
  }
  a.q = head_rows(call.q);
  a.k = head_rows(call.k);
  a.v = head_rows(call.v);
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
    for (std::int64_t j = 0; j < a.key_blocks(); ++j) pack_key_block(a, unit, j, packed);
    finish_packed_keys(a, packed);
    for (std::int64_t n = 0; n < a.unit_query_blocks(); ++n) {
      if (i + 1 < a.units()) prefetch_block(a, call.order[static_cast<std::size_t>(i + 1)], n);
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
  spread(a, a.units(), 0,
         [&](std::int64_t unit, void*) { finish_packed_keys(a, packed.of(unit)); });
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

void pack_whole_unit(const TiledAttention& a, std::int64_t unit, void* packed) {
  for (std::int64_t j = 0; j < a.key_blocks(); ++j) pack_unit_keys(a, unit, j, packed);
  for (std::int64_t n = 0; n < a.unit_query_blocks(); ++n) pack_unit_queries(a, unit, n, packed);
  finish_packed_unit(a, unit, packed);
}

void backward_by_units(const Call& call) {
  const TiledAttention& a = call.a;
  const std::int64_t packed_bytes = packed_unit_bytes(a);
  spread(a, a.units(), packed_bytes + backward_scratch_bytes(a, true),
         [&](std::int64_t i, void* packed) {
           const std::int64_t unit = call.order[static_cast<std::size_t>(i)];
           pack_whole_unit(a, unit, packed);
           backward_unit(a, unit, packed, behind(packed, packed_bytes));
         });
}

void backward_by_blocks(const Call& call) {
  const TiledAttention& a = call.a;
  const std::int64_t packed_bytes = packed_unit_bytes(a);
  const torch::Tensor memory = raw_bytes(a.units() * packed_bytes);
  const PackedUnits packed{memory.data_ptr<std::uint8_t>(), packed_bytes};
  const std::int64_t keys = a.key_blocks(), queries = a.unit_query_blocks();
  spread(a, a.units() * (keys + queries), 0, [&](std::int64_t i, void*) {
    const std::int64_t unit = i / (keys + queries), part = i % (keys + queries);
    part < keys ? pack_unit_keys(a, unit, part, packed.of(unit))
                : pack_unit_queries(a, unit, part - keys, packed.of(unit));
  });
  spread(a, a.units(), 0,
         [&](std::int64_t unit, void*) { finish_packed_unit(a, unit, packed.of(unit)); });
  spread(a, a.units() * (keys + queries), backward_scratch_bytes(a, false),
         [&](std::int64_t i, void* scratch) {
           const std::int64_t unit = call.order[static_cast<std::size_t>(i / (keys + queries))];
           const std::int64_t part = i % (keys + queries);
           part < keys ? backward_key_block(a, unit, part, packed.of(unit), scratch)
                       : backward_query_block(a, unit, queries - 1 - (part - keys), packed.of(unit),
                                              scratch);
         });
}

}  // namespace

bool tiled_attention_supports(const TileSet& set, const AttentionProblem& p, torch::Device device) {
  if (!device.is_cpu() || p.scalar == ScalarKind::kFp64) return false;
  if (p.dropout || p.bias == ScoreBias::kBuckets) return false;
  if (p.head_width % 8 != 0 || p.head_width > 256) return false;
  return (p.scalar == ScalarKind::kBf16 ? set.bf16 : set.fp32)->available();
}

AttentionOutputs tiled_attention_forward(const TileSet& set, const AttentionInputs& inputs,
                                         const torch::Tensor& visited_BHN) {
  Call call = make_call(set, inputs);
  AttentionOutputs outputs{
      rows_like(inputs.q_BHTD),
      torch::empty({inputs.q_BHTD.size(0), inputs.q_BHTD.size(1), inputs.q_BHTD.size(2)},
                   torch::TensorOptions(torch::kFloat))};
  call.a.output = head_rows(outputs.output_BHTD);
  call.a.lse_BHT = outputs.lse_BHT.data_ptr<float>();
  if (visited_BHN.defined()) call.a.visited_BHN = visited_BHN.data_ptr<std::int32_t>();
  units_are_enough(call.a) ? forward_by_units(call) : forward_by_blocks(call);
  return outputs;
}

AttentionGradients tiled_attention_backward(const TileSet& set, const AttentionInputs& inputs,
                                            const AttentionOutputs& outputs,
                                            const torch::Tensor& gradient_BHTD) {
  Call call = make_call(set, inputs);
  TiledAttention& a = call.a;
  const torch::Tensor output = dense_rows(outputs.output_BHTD);
  const torch::Tensor gradient = dense_rows(gradient_BHTD), lse = outputs.lse_BHT.contiguous();
  AttentionGradients gradients = empty_gradients(inputs);
  a.output = head_rows(output);
  a.lse_BHT = lse.data_ptr<float>();
  a.output_gradient = head_rows(gradient);
  a.q_gradient = head_rows(gradients.q_BHTD);
  a.k_gradient = head_rows(gradients.k_BGSD);
  a.v_gradient = head_rows(gradients.v_BGSD);
  torch::Tensor parts_BHJ;
  if (inputs.options.slopes_H.defined() && inputs.options.slopes_H.requires_grad()) {
    parts_BHJ = torch::empty({a.sizes.sequences, a.sizes.heads, a.key_blocks()}, torch::kDouble);
    a.slope_parts = parts_BHJ.data_ptr<double>();
  }
  units_are_enough(a) ? backward_by_units(call) : backward_by_blocks(call);
  if (parts_BHJ.defined())
    gradients.slopes_H = parts_BHJ.sum(2).sum(0).to(inputs.options.slopes_H.scalar_type());
  return gradients;
}

PackedKeyValues::PackedKeyValues(const TileSet& set, const AttentionProblem& whole)
    : set_(set), whole_(whole) {
  TiledAttention a;
  a.sizes = whole;
  a.ops = whole.scalar == ScalarKind::kBf16 ? set.bf16 : set.fp32;
  unit_bytes_ = packed_keys_bytes(a);
  packed_ = raw_bytes(a.units() * unit_bytes_);
}

torch::Tensor PackedKeyValues::attend(const AttentionInputs& chunk) {
  ensure(length_ % kTile == 0, "chunks before the last are whole blocks");
  Call call = make_call(set_, chunk);
  TiledAttention& a = call.a;
  a.first_key_in_memory = length_;
  a.key_capacity = whole_.keys;
  a.sizes.keys += length_;
  torch::Tensor output = rows_like(chunk.q_BHTD);
  const torch::Tensor lse = torch::empty({output.size(0), output.size(1), output.size(2)});
  a.output = head_rows(output);
  a.lse_BHT = lse.data_ptr<float>();
  const PackedUnits packed{packed_.data_ptr<std::uint8_t>(), unit_bytes_};
  pack_keys(a, packed, length_ / kTile);
  forward_over(call, packed);
  length_ = a.sizes.keys;
  return output;
}

}  // namespace alibi
