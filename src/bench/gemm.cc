#include "bench/bench.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/strings.h"
#include "device/libtorch.h"
#include "model/linear/linear_products.h"
#include "model/shapes.h"

namespace alibi {
namespace {

constexpr const char *kLibTorch = "LibTorch", *kPacked = "packed";

struct ModelProduct {
  std::string name;  // "qkv"
  std::int64_t outputs, inputs;
  double count;  // in a step
};

std::vector<ModelProduct> model_products(const ModelConfig& m, std::int64_t vocabulary) {
  std::vector<ModelProduct> products;
  for (const ParameterShape& weight : parameter_shapes(m, vocabulary)) {
    if (stacked_rows(weight).empty()) continue;  // no matrix of a block
    const std::size_t layer_end = weight.name.find('.');
    const std::string name =
        weight.name.substr(layer_end + 1, weight.name.rfind('.') - layer_end - 1);
    const auto known = std::ranges::find(products, name, &ModelProduct::name);
    if (known == products.end())
      products.push_back({name, weight.sizes[0], weight.sizes[1], 1});
    else
      ++known->count;
  }
  products.push_back({"head", vocabulary, m.width, 1});
  return products;
}

struct ProductTimes {
  ModelProduct product;
  const char* by;
  std::vector<Timing> timings;  // forward, input's gradient, weight's gradient
  double operations;            // of one of the three
};

// What LibTorch computes in the type itself, and what a step computes where that differs.
std::vector<ProductTimes> measure(const GemmBench& bench, bool packed_too) {
  const torch::NoGradGuard guard;
  std::vector<ProductTimes> all;
  for (const ModelProduct& product : model_products(bench.model, bench.vocabulary)) {
    const torch::Tensor x = torch::randn({bench.tokens, product.inputs}).to(bench.type);
    const torch::Tensor master = torch::randn({product.outputs, product.inputs});
    const torch::Tensor w = master.to(bench.type), dw = torch::empty_like(master);
    const torch::Tensor g = torch::randn({bench.tokens, product.outputs}).to(bench.type);
    std::vector<std::function<void()>> runs{[&] { at::linear(x, w); }, [&] { g.mm(w); },
                                            [&] { g.t().mm(x); }};
    const auto kind = LinearProducts::best_kind(master, bench.type);
    const bool packed = packed_too && kind == LinearProducts::Kind::kPacked;
    SharedProducts products;
    if (packed) {
      products = c10::make_intrusive<LinearProducts>(master, bench.type, kind);
      runs.insert(runs.end(),
                  {[&] { products->forward(x, {}); }, [&] { products->input_gradient(g); },
                   [&] { products->weight_gradient(g, x, dw, false); }});
    }
    const std::vector<Timing> timings = time_in_turns(runs, bench.rounds);
    const double operations =
        2 * static_cast<double>(bench.tokens * product.outputs * product.inputs);
    all.push_back({product, kLibTorch, {timings.begin(), timings.begin() + 3}, operations});
    if (packed) all.push_back({product, kPacked, {timings.begin() + 3, timings.end()}, operations});
  }
  return all;
}

// Over all products of a step; those that were not measured `by` that count by LibTorch's times.
double overall_rate(const std::vector<ProductTimes>& all, const std::string& by) {
  std::map<std::string, const ProductTimes*> chosen;
  for (const ProductTimes& one : all)
    if (one.by == by || (one.by == kLibTorch && !chosen.contains(one.product.name)))
      chosen[one.product.name] = &one;
  double seconds = 0, operations = 0;
  for (const auto& [name, one] : chosen) {
    for (const Timing& timing : one->timings) {
      seconds += one->product.count * timing.median;
      operations += one->product.count * one->operations;
    }
  }
  return seconds > 0 ? operations / seconds : 0;
}

}  // namespace

BenchRecord bench_gemm(const GemmBench& bench) {
  BenchRecord record{.benchmark = "gemm"};
  record.table.columns = {{"product"},
                          {"by"},
                          right("out x in"),
                          right("forward ms"),
                          right("GFLOP/s"),
                          right("input's gradient"),
                          right("weight's gradient")};
  const std::vector<ProductTimes> all = measure(bench, true);
  for (const ProductTimes& one : all) {
    const auto rate = [&](int i) {
      return one.operations / one.timings[static_cast<std::size_t>(i)].median;
    };
    record.table.rows.push_back({one.product.name, one.by,
                                 cat(one.product.outputs, " x ", one.product.inputs),
                                 milliseconds(one.timings[0]), four_digits(rate(0) / 1e9),
                                 four_digits(rate(1) / 1e9), four_digits(rate(2) / 1e9)});
    Json row = {{"product", one.product.name},
                {"by", one.by},
                {"outputs", one.product.outputs},
                {"inputs", one.product.inputs},
                {"forward_operations_per_second", rate(0)},
                {"input_gradient_operations_per_second", rate(1)},
                {"weight_gradient_operations_per_second", rate(2)}};
    const char* const parts[] = {"forward", "input_gradient", "weight_gradient"};
    for (std::size_t i = 0; i < 3; ++i) add_timing(row, parts[i], one.timings[i]);
    record.rows.push_back(std::move(row));
  }
  record.notes = {cat(bench.tokens, " tokens; gradients in GFLOP/s; all products of a step: ",
                      four_digits(overall_rate(all, kLibTorch) / 1e9), " GFLOP/s by LibTorch")};
  std::set<std::string> packed;
  std::vector<std::string> others;
  for (const ProductTimes& one : all)
    if (one.by == kPacked) packed.insert(one.product.name);
  for (const ProductTimes& one : all)
    if (!packed.contains(one.product.name)) others.push_back(one.product.name);
  if (!packed.empty())
    record.notes.push_back(
        cat(four_digits(overall_rate(all, kPacked) / 1e9),
            " GFLOP/s by products on weights packed beforehand, inputs of the weight's gradient "
            "packed within",
            others.empty() ? "" : cat("; ", join(others, ", "), " cannot be packed: by LibTorch")));
  return record;
}

double model_gemm_rate(const GemmBench& bench) {
  return overall_rate(measure(bench, false), kLibTorch);
}

}  // namespace alibi
