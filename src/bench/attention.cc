#include "bench/bench.h"

#include "base/strings.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "kernels/tile_ops.h"
#include "model/attention_tiled.h"

namespace alibi {
namespace {

constexpr std::int64_t kLongestWhole = 16'384;  // all keys of longer texts take minutes

void show_all(AttentionInputs& inputs) {
  inputs.options.visible = {};
  inputs.options.skip = SkipRule::kOff;
}

void hash_keys(AttentionInputs& inputs) {
  if (inputs.options.visible.hashed == nullptr) return;
  inputs.k_BGSD = keys_of_queries(inputs.q_BHTD);
  inputs.options.visible.hash(inputs.k_BGSD);
}

struct Contender {
  std::string name;
  std::function<torch::Tensor(const AttentionInputs&)> attend;
};

// (1, H, T, T), of hashed keys (B, H, T, T): the bias, minus infinity where a key is hidden.
torch::Tensor bias_mask(const AttentionInputs& inputs) {
  const std::int64_t length = inputs.q_BHTD.size(2);
  const torch::Tensor place = torch::arange(length);
  const torch::Tensor distance = place.unsqueeze(1) - place.unsqueeze(0);
  return inputs.options.bias.by_distance(inputs.q_BHTD.size(1), length)
      .to(torch::kFloat)
      .index({torch::indexing::Slice(), distance.clamp_min(0)})
      .unsqueeze(0)
      .masked_fill(inputs.options.visible.hidden({length, length, 0, length, length}, torch::kCPU),
                   -std::numeric_limits<float>::infinity())
      .to(inputs.q_BHTD.options());
}

// The mask is made before the clock starts, once for all layers of a model.
Contender libtorch(const AttentionInputs& inputs) {
  const torch::Tensor mask = bias_mask(inputs);
  const bool shared = inputs.k_BGSD.size(1) != inputs.q_BHTD.size(1);
  return {"libtorch mask", [mask, shared](const AttentionInputs& in) {
            return at::scaled_dot_product_attention(in.q_BHTD, in.k_BGSD, in.v_BGSD, mask, 0.0,
                                                    false, in.options.scale, shared);
          }};
}

std::vector<Contender> contenders(const AttentionBench& bench, const AttentionInputs& inputs) {
  std::vector<Contender> all;
  for (const std::string& name : bench.kernels) {
    const AttentionKernel* kernel = &choose_attention(describe_problem(inputs), bench.device, name);
    all.push_back({kernel->name, [kernel](AttentionInputs in) {
                     hash_keys(in);
                     return attention(in, *kernel, false);
                   }});
  }
  if (bench.with_libtorch) all.push_back(libtorch(inputs));
  const VisibleKeys& visible = inputs.options.visible;
  const bool pattern = visible.rules || visible.hashed != nullptr;
  if (!pattern || inputs.q_BHTD.size(2) > kLongestWhole) return all;
  AttentionInputs without = inputs;  // what a pattern saves
  show_all(without);
  const AttentionKernel* kernel =
      &choose_attention(describe_problem(without), bench.device, bench.kernels.front());
  all.push_back({cat(kernel->name, ", all keys"), [kernel](AttentionInputs in) {
                   show_all(in);
                   return attention(in, *kernel, false);
                 }});
  return all;
}

// Of the key blocks that order alone leaves, the share that the first kernel visits; nothing where
// it does not count.
std::optional<double> visited_share(const AttentionBench& bench, const AttentionInputs& inputs) {
  const AttentionKernel& kernel =
      choose_attention(describe_problem(inputs), bench.device, bench.kernels.front());
  if (kernel.tiles == nullptr) return std::nullopt;
  const torch::Tensor& q = inputs.q_BHTD;
  const std::int64_t blocks = (q.size(2) + kTile - 1) / kTile;
  const torch::Tensor visited = torch::zeros({q.size(0), q.size(1), blocks}, torch::kInt32);
  tiled_attention_forward(*kernel.tiles, inputs, visited);
  return share_of_visited(visited).mean().item<double>();
}

struct Pair {
  Timing forward, both;
};

std::vector<Pair> measure(const AttentionBench& bench, AttentionInputs inputs,
                          const std::vector<Contender>& all) {
  std::vector<std::function<void()>> functions;
  AttentionInputs leaves = inputs;
  for (torch::Tensor* x : {&leaves.q_BHTD, &leaves.k_BGSD, &leaves.v_BGSD})
    *x = x->detach().requires_grad_();
  const torch::Tensor gradient = torch::randn(inputs.q_BHTD.sizes()).to(inputs.q_BHTD.options());
  for (const Contender& one : all) {
    functions.push_back([&, inputs] {
      const torch::NoGradGuard guard;
      one.attend(inputs);
      synchronize(bench.device);
    });
    functions.push_back([&, leaves, gradient] {
      torch::autograd::grad({one.attend(leaves)}, {leaves.q_BHTD, leaves.k_BGSD, leaves.v_BGSD},
                            {gradient}, std::nullopt, false, /*allow_unused=*/true);
      synchronize(bench.device);
    });
  }
  const std::vector<Timing> timings = time_in_turns(functions, bench.rounds);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i)
    pairs.push_back({timings[2 * i], timings[2 * i + 1]});
  return pairs;
}

std::string rate(double operations, const Timing& timing) {
  return four_digits(operations / timing.median / 1e9);
}

void add_rows(BenchRecord& record, const AttentionCase& shape, const std::vector<Contender>& all,
              const std::vector<Pair>& pairs) {
  const double forward = attention_operations(shape, false);
  const double both = attention_operations(shape, true);
  const Timing& slowest = pairs.back().both;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double ratio = slowest.median / pairs[i].both.median;
    record.table.rows.push_back({i == 0 ? shape.text() : "", all[i].name,
                                 milliseconds(pairs[i].forward), milliseconds(pairs[i].both),
                                 rate(forward, pairs[i].forward), rate(both, pairs[i].both),
                                 times(ratio)});
    Json row = {{"length", shape.length},         {"sequences", shape.sequences},
                {"heads", shape.heads},           {"key_value_heads", shape.key_value_heads},
                {"head_width", shape.head_width}, {"kernel", all[i].name}};
    add_timing(row, "forward", pairs[i].forward);
    add_timing(row, "both", pairs[i].both);
    row["both_against_last"] = ratio;
    record.rows.push_back(std::move(row));
  }
  record.table.rows.push_back({});
}

}  // namespace

BenchRecord bench_attention(const AttentionBench& bench) {
  BenchRecord record{.benchmark = "attention"};
  record.table.columns = {{"problem"},      {"kernel"},    right("forward ms"),  right("both ms"),
                          right("GFLOP/s"), right("both"), right("against last")};
  std::vector<std::string> visited;
  for (const AttentionCase& shape : bench.cases) {
    AttentionInputs inputs = bench.inputs(shape);
    for (torch::Tensor* x : {&inputs.q_BHTD, &inputs.k_BGSD, &inputs.v_BGSD})
      *x = x->to(bench.device);
    ScoreBias& bias = inputs.options.bias;
    for (torch::Tensor* x : {&bias.slopes_H, &bias.table_HL, &bias.terms_BHS})
      if (x->defined()) *x = x->to(bench.device);
    inputs.options.skip = bench.skip;
    if (bench.rules) inputs.options.visible.rules = bench.rules(shape.length);
    if (bench.hashed) inputs.options.visible.hashed = bench.hashed.get();  // else the model's
    hash_keys(inputs);
    const std::vector<Contender> all = contenders(bench, inputs);
    add_rows(record, shape, all, measure(bench, inputs, all));
    if (const auto share = visited_share(bench, inputs)) {
      record.rows[record.rows.size() - all.size()]["visited_share"] = *share;
      visited.push_back(cat(shape.length, ": ", fixed(100 * *share, 1), " %"));
    }
  }
  record.notes = {
      "ms: median (least .. most), kernels in turns; both: forward and backward; GFLOP/s counts "
      "the causal half, without recomputation and as if nothing were skipped"};
  if (!visited.empty())
    record.notes.push_back(
        cat("key blocks visited, of those that order leaves: ", join(visited, ", ")));
  return record;
}

}  // namespace alibi
