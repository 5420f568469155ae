#include "bench/gemm.h"

#include "base/strings.h"

namespace alibi {
namespace {

struct ProductTimes {
  ModelProduct product;
  std::vector<Timing> timings;  // forward, input's gradient, weight's gradient
  double operations;            // of one of the three
};

std::vector<ProductTimes> measure(const GemmBench& bench) {
  const torch::NoGradGuard guard;
  std::vector<ProductTimes> all;
  for (const ModelProduct& product : model_products(bench.model, bench.vocabulary)) {
    const torch::Tensor x = torch::randn({bench.tokens, product.inputs}).to(bench.type);
    const torch::Tensor w = torch::randn({product.outputs, product.inputs}).to(bench.type);
    const torch::Tensor g = torch::randn({bench.tokens, product.outputs}).to(bench.type);
    all.push_back(
        {product,
         time_in_turns({[&] { at::linear(x, w); }, [&] { g.mm(w); }, [&] { g.t().mm(x); }},
                       bench.rounds),
         2 * static_cast<double>(bench.tokens * product.outputs * product.inputs)});
  }
  return all;
}

double overall_rate(const std::vector<ProductTimes>& all) {
  double seconds = 0, operations = 0;
  for (const ProductTimes& one : all) {
    for (const Timing& timing : one.timings) {
      seconds += one.product.count * timing.median;
      operations += one.product.count * one.operations;
    }
  }
  return operations / seconds;
}

}  // namespace

std::vector<ModelProduct> model_products(const ModelConfig& m, std::int64_t vocabulary) {
  const auto layers = static_cast<double>(m.layers);
  const std::int64_t mlp = m.mlp_width.value_or(4 * m.width);
  const std::int64_t qkv = m.width + 2 * m.key_value_heads.value_or(m.heads) * (m.width / m.heads);
  return {{"qkv", qkv, m.width, layers},
          {"out", m.width, m.width, layers},
          {"up", mlp, m.width, layers},
          {"down", m.width, mlp, layers},
          {"head", vocabulary, m.width, 1}};
}

BenchRecord bench_gemm(const GemmBench& bench) {
  BenchRecord record{.benchmark = "gemm", .machine = {}, .table = {}, .rows = {}, .notes = {}};
  const auto right = [](const char* title) { return TableColumn{title, Align::kRight}; };
  record.table.columns = {{"product"},      right("out x in"),         right("forward ms"),
                          right("GFLOP/s"), right("input's gradient"), right("weight's gradient")};
  const std::vector<ProductTimes> all = measure(bench);
  for (const ProductTimes& one : all) {
    const auto rate = [&](int i) {
      return one.operations / one.timings[static_cast<std::size_t>(i)].median;
    };
    record.table.rows.push_back({one.product.name,
                                 cat(one.product.outputs, " x ", one.product.inputs),
                                 milliseconds(one.timings[0]), four_digits(rate(0) / 1e9),
                                 four_digits(rate(1) / 1e9), four_digits(rate(2) / 1e9)});
    record.rows.push_back({{"product", one.product.name},
                           {"outputs", one.product.outputs},
                           {"inputs", one.product.inputs},
                           {"forward_operations_per_second", rate(0)},
                           {"input_gradient_operations_per_second", rate(1)},
                           {"weight_gradient_operations_per_second", rate(2)}});
  }
  record.notes = {cat(bench.tokens, " tokens; gradients in GFLOP/s; all products of a step: ",
                      four_digits(overall_rate(all) / 1e9), " GFLOP/s")};
  return record;
}

double model_gemm_rate(const GemmBench& bench) { return overall_rate(measure(bench)); }

}  // namespace alibi
