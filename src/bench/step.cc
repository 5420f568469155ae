#include <span>

#include "base/clock.h"
#include "base/strings.h"
#include "bench/bench.h"
#include "bench/operator_times.h"
#include "device/device.h"
#include "device/gemm_rate.h"
#include "device/libtorch.h"
#include "device/memory.h"
#include "model/gpt.h"
#include "model/linear_choice.h"
#include "model/loss/cross_entropy.h"
#include "model/shapes.h"
#include "train/micro_batch_graphs.h"
#include "train/optimizer/optimizer.h"

namespace alibi {
namespace {

// A model and all a step needs, on random tokens.
class Stepper {
 public:
  Stepper(const StepBench& bench, std::int64_t length)
      : config_(bench.config),
        model_(std::make_shared<GptImpl>(
            bench.config.model, bench.vocabulary, activation_type(bench.config.runtime.precision),
            bench.config.runtime.attention, bench.config.runtime.linear_layers)) {
    model_->initialize(0, *config_.initialize.standard_deviation);
    model_->to(bench.device);
    parameters_ = model_->parameters();
    optimizer_ = std::make_unique<Optimizer>(named_parameters(*model_), config_.optimizer,
                                             activation_type(config_.runtime.precision));
    const std::int64_t rows = std::max<std::int64_t>(1, bench.tokens / length);
    const auto random = [&] {
      return torch::randint(bench.vocabulary, {rows, length}, torch::kLong).to(bench.device);
    };
    batch_ = {random(), random(), {}};
    graphs_ = std::make_unique<MicroBatchGraphs>(graphs_for(config_, bench.device), parameters_);
  }

  double step() {
    optimizer_->zero_gradients();
    const torch::Tensor loss =
        graphs_->run(batch_, true, [&](const PlacedBatch& batch) { return loss_of(batch); });
    const std::vector<torch::Tensor> gradients = gradients_of(parameters_);
    // Loss and norms in one copy, as in training: the step's one wait, for the update before it,
    // too.
    const torch::Tensor figures = torch::cat({loss.view(1), gradient_norms(gradients)}).cpu();
    const std::span<const double> read(figures.data_ptr<double>(),
                                       static_cast<std::size_t>(figures.numel()));
    clip_gradients(gradients, joint_norm(read.subspan(1)), config_.optimizer.clip_norm);
    optimizer_->update(gradients, ++steps_, config_.optimizer.learning_rate);
    return read.front();
  }

  std::int64_t tokens() const { return batch_.inputs_BT.numel(); }
  GptImpl& model() { return *model_; }
  bool uses_graphs() const { return graphs_->in_use(); }
  std::string kernel() const {  // of attention
    const auto& x = batch_.inputs_BT;
    return model_->attention_kernel({x.size(0), x.size(1), /*training=*/true, false}, x.device());
  }

 private:
  torch::Tensor loss_of(const PlacedBatch& batch) {
    const torch::Tensor hidden_BTC = model_->hidden(batch.inputs_BT, training_options(config_));
    const torch::Tensor loss =
        training_loss(hidden_BTC.flatten(0, 1), model_->head_VC(), batch.targets_BT.flatten(),
                      {.chunk_rows = config_.runtime.loss_chunk_rows,
                       .packs = config_.runtime.linear_layers != LinearLayers::kLibtorch,
                       .starts_backward = true})
            .objective;
    loss.backward();
    return loss.detach().to(torch::kDouble);
  }

  Config config_;
  Gpt model_;
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  PlacedBatch batch_;
  std::unique_ptr<MicroBatchGraphs> graphs_;
  std::int64_t steps_ = 0;
};

// Forward and backward operations of one step, by part; others have none.
std::map<std::string, double> operations(const StepBench& bench, std::int64_t length,
                                         std::int64_t tokens) {
  const TokenOperations each = token_operations(bench.config.model, bench.vocabulary, length);
  const auto all = static_cast<double>(tokens);
  return {{"linear layers", all * each.linear},
          {"loss", all * each.head},
          {"attention", all * each.attention}};
}

// Bytes that parts without products must move in one step, at least: what they read and write once.
// Norms: x in and y out; dy, x and the other gradient in, dx out. Optimizer: weight, gradient and
// state in, all but the gradient out. Clipping: the gradients once for their norm, in and out to
// scale them.
std::map<std::string, double> moved_bytes(const StepBench& bench, GptImpl& model,
                                          std::int64_t tokens) {
  const ModelConfig& m = bench.config.model;
  const double number = activation_type(bench.config.runtime.precision) == torch::kBFloat16 ? 2 : 4;
  const auto weights = 4 * static_cast<double>(model.parameter_count());
  std::int64_t state = 0;
  for (const auto& [name, parameter] : named_parameters(model))
    state += optimizer_state_bytes(bench.config.optimizer, {name, parameter.sizes().vec()});
  const auto norms = static_cast<double>((2 * m.layers + 1) * tokens * m.width);
  return {{"norms", 6 * number * norms},
          {"optimizer", 3 * weights + 2 * static_cast<double>(state)},
          {"gradient norm, clip", 3 * weights}};
}

// What a step's parts are measured by.
struct Yardsticks {
  std::map<std::string, double> operations, bytes;  // of a step
  double matrix_rate, copy_rate;                    // operations and bytes a second
};

// "1256", "84 %": a rate in billions and its share of what the machine can.
std::pair<std::string, std::string> rate_cells(double rate, double best) {
  if (rate <= 0) return {};
  return {four_digits(rate / 1e9), fixed(100 * rate / best, 0) + " %"};
}

// `seconds`: of one of the steps that were watched, to which the parts add up.
void add_parts(BenchRecord& record, const std::map<std::string, double>& parts, double seconds,
               const Yardsticks& by) {
  double in_operators = 0;
  std::vector<std::pair<std::string, double>> sorted;
  for (const auto& [name, part] : parts) {
    in_operators += part;
    sorted.emplace_back(name, part);
  }
  sorted.emplace_back("outside operators", seconds - in_operators);
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second > b.second; });
  for (const auto& [name, part] : sorted) {
    const auto per_second = [&, name = name, part = part](const std::map<std::string, double>& of) {
      const auto found = of.find(name);
      return found == of.end() ? 0.0 : found->second / part;
    };
    const double operations = per_second(by.operations), bytes = per_second(by.bytes);
    const auto products = rate_cells(operations, by.matrix_rate);
    const auto memory = rate_cells(bytes, by.copy_rate);
    record.table.rows.push_back({"  " + name, four_digits(1e3 * part),
                                 fixed(100 * part / seconds, 1) + " %", products.first,
                                 products.second, memory.first, memory.second});
    record.rows.push_back({{"part", name},
                           {"seconds", part},
                           {"operations_per_second", operations},
                           {"bytes_per_second", bytes}});
  }
}

// Bytes read and written a second by LibTorch's copy of a tensor that no cache holds.
double copy_rate(torch::Device device) {
  const torch::Tensor from = torch::ones({32 << 20}).to(device), to = torch::empty_like(from);
  const auto copy = [&] {
    to.copy_(from);
    synchronize(device);
  };
  const Timing timing = time_in_turns({copy}, {.warmup = 1, .least = 5, .seconds = 0.2}).front();
  return 2 * static_cast<double>(from.nbytes()) / timing.median;
}

// Operations per second of matrix products: what a step is compared with.
double matrix_rate(const StepBench& bench, std::int64_t tokens) {
  const torch::ScalarType type = activation_type(bench.config.runtime.precision);
  if (!bench.device.is_cpu())
    return measure_gemm_rate(bench.device, type, tokens, bench.config.model.width);
  return model_gemm_rate({.model = bench.config.model,
                          .vocabulary = bench.vocabulary,
                          .tokens = tokens,
                          .type = type,
                          .rounds = {.warmup = 2, .least = 5, .seconds = 0.2}});
}

// Watched steps: their parts and their own time, a step each.
std::pair<std::map<std::string, double>, double> watch(Stepper& stepper) {
  constexpr int kSteps = 3;
  std::map<std::string, double> parts;
  const double start = seconds_now();
  {
    OperatorTimes times;
    for (int i = 0; i < kSteps; ++i) stepper.step();
    parts = times.parts();
  }
  const double seconds = (seconds_now() - start) / kSteps;
  for (auto& part : parts) part.second /= kSteps;
  return {parts, seconds};
}

void bench_length(const StepBench& bench, std::int64_t length, BenchRecord& record) {
  Stepper stepper(bench, length);
  reset_peak_memory(bench.device);
  const Timing timing = time_in_turns({[&] { stepper.step(); }}, bench.rounds).front();
  const std::int64_t memory = peak_memory_bytes(bench.device);
  const auto [parts, watched] = watch(stepper);
  const Yardsticks by{operations(bench, length, stepper.tokens()),
                      moved_bytes(bench, stepper.model(), stepper.tokens()),
                      matrix_rate(bench, stepper.tokens()), copy_rate(bench.device)};
  double total = 0;
  for (const auto& [name, operations] : by.operations) total += operations;
  const double rate = static_cast<double>(stepper.tokens()) / timing.median;
  const auto cells = rate_cells(total / timing.median, by.matrix_rate);
  record.table.rows.push_back({cat("length ", length, ", ", stepper.tokens(),
                                   " tokens: ", with_commas(std::llround(rate)), " tokens/s"),
                               milliseconds(timing), "100 %", cells.first, cells.second});
  Json row = {{"length", length},
              {"tokens", stepper.tokens()},
              {"parameters", stepper.model().parameter_count()},
              {"tokens_per_second", rate},
              {"peak_memory_bytes", memory},
              {"gemm_operations_per_second", by.matrix_rate},
              {"copy_bytes_per_second", by.copy_rate},
              {"share_of_gemm_rate", total / timing.median / by.matrix_rate},
              {"profiled_seconds", watched},
              {"kernel", stepper.kernel()},
              {"cuda_graph", stepper.uses_graphs()}};
  add_timing(row, "step", timing);
  record.rows.push_back(std::move(row));
  // Operators on a device return before its work is done: their times here are not its times.
  if (bench.device.is_cpu()) add_parts(record, parts, watched, by);
  record.notes.push_back(
      cat("length ", length, ": peak memory ", human_bytes(static_cast<double>(memory)),
          ", LibTorch's matrix rate ", four_digits(by.matrix_rate / 1e9),
          " GFLOP/s at the model's own shapes, its copy ", four_digits(by.copy_rate / 1e9),
          " GB/s; recomputation is not counted; parts are of steps that were "
          "watched"));
  if (stepper.uses_graphs()) record.notes.push_back("forward and backward as one CUDA graph");
}

}  // namespace

BenchRecord bench_step(const StepBench& bench) {
  BenchRecord record{.benchmark = "step"};
  record.table.columns = {{"part"},         right("ms"),   right("share"),    right("GFLOP/s"),
                          right("of rate"), right("GB/s"), right("of a copy")};
  StepBench settled = bench;
  const std::string chosen = settle_linear_layers(settled.config.runtime, bench.config.model,
                                                  bench.vocabulary, bench.device, bench.tokens);
  if (!chosen.empty()) record.notes.push_back(chosen);
  const std::string without =
      graphs_without_effect(settled.config, graphs_for(settled.config, bench.device));
  if (!without.empty()) record.notes.push_back(without);
  for (const std::int64_t length : bench.lengths) bench_length(settled, length, record);
  return record;
}

}  // namespace alibi
