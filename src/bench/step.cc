#include "bench/step.h"

#include "base/strings.h"
#include "bench/gemm.h"
#include "bench/operator_times.h"
#include "device/device.h"
#include "device/memory.h"
#include "loss/cross_entropy.h"
#include "model/gpt.h"
#include "optimizer/adamw.h"
#include "optimizer/clip.h"

namespace alibi {
namespace {

// A model and all a step needs, on random tokens.
class Stepper {
 public:
  Stepper(const StepBench& bench, std::int64_t length)
      : config_(bench.config),
        model_(bench.config.model, bench.vocabulary,
               activation_type(bench.config.runtime.precision), bench.config.runtime.attention) {
    model_->initialize(0, config_.initialize.standard_deviation);
    parameters_ = model_->parameters();
    std::vector<std::pair<std::string, torch::Tensor>> named;
    for (const auto& parameter : model_->named_parameters())
      named.emplace_back(parameter.key(), parameter.value());
    optimizer_ = std::make_unique<AdamW>(std::move(named), config_.optimizer);
    const std::int64_t rows = std::max<std::int64_t>(1, bench.tokens / length);
    tokens_BT_ = torch::randint(bench.vocabulary, {rows, length}, torch::kLong);
    targets_BT_ = torch::randint(bench.vocabulary, {rows, length}, torch::kLong);
  }

  double step() {
    optimizer_->zero_gradients();
    ForwardOptions options;
    options.training = true;
    options.recompute = config_.runtime.recompute == Recompute::kBlocks;
    const torch::Tensor hidden_BTC = model_->hidden(tokens_BT_, options);
    const torch::Tensor loss =
        cross_entropy(hidden_BTC.flatten(0, 1), model_->head_VC(), targets_BT_.flatten(),
                      config_.runtime.loss_chunk_rows);
    loss.backward();
    const double norm = gradient_norm(parameters_);
    clip_gradients(parameters_, norm, config_.optimizer.clip_norm);
    optimizer_->update(++steps_, config_.optimizer.learning_rate);
    return loss.item<double>();
  }

  std::int64_t tokens() const { return tokens_BT_.numel(); }
  GptImpl& model() { return *model_; }

 private:
  Config config_;
  Gpt model_;
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<AdamW> optimizer_;
  torch::Tensor tokens_BT_, targets_BT_;
  std::int64_t steps_ = 0;
};

// Forward and backward operations of one step, by part; others have none.
std::map<std::string, double> operations(const StepBench& bench, GptImpl& model,
                                         std::int64_t length, std::int64_t tokens) {
  const ModelConfig& m = bench.config.model;
  const auto head = static_cast<double>(bench.vocabulary * m.width);
  const double all = static_cast<double>(model.parameter_count()) - (m.tied_head ? 0 : head);
  const double each = 6 * static_cast<double>(tokens);
  return {{"linear layers", each * (all - head)},
          {"loss", each * head},
          {"attention", each * static_cast<double>(m.layers * length * m.width)}};
}

void add_parts(BenchRecord& record, const std::map<std::string, double>& parts, double seconds,
               const std::map<std::string, double>& work, double peak, int steps) {
  double known = 0;
  std::vector<std::pair<std::string, double>> sorted;
  for (const auto& [name, total] : parts) {
    known += total / steps;
    sorted.emplace_back(name, total / steps);
  }
  sorted.emplace_back("outside operators", std::max(0.0, seconds - known));
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second > b.second; });
  for (const auto& [name, part] : sorted) {
    const auto found = work.find(name);
    const double rate = found == work.end() ? 0 : found->second / part;
    record.table.rows.push_back({"  " + name, four_digits(1e3 * part),
                                 fixed(100 * part / seconds, 1) + " %",
                                 rate > 0 ? four_digits(rate / 1e9) : "",
                                 rate > 0 ? fixed(100 * rate / peak, 0) + " %" : ""});
    record.rows.push_back({{"part", name}, {"seconds", part}, {"operations_per_second", rate}});
  }
}

void bench_length(const StepBench& bench, std::int64_t length, BenchRecord& record) {
  Stepper stepper(bench, length);
  reset_peak_memory(torch::kCPU);
  const Timing timing = time_in_turns({[&] { stepper.step(); }}, bench.rounds).front();
  const std::int64_t memory = peak_memory_bytes(torch::kCPU);
  const auto work = operations(bench, stepper.model(), length, stepper.tokens());
  double total = 0;
  for (const auto& [name, operations] : work) total += operations;
  const torch::ScalarType type = activation_type(bench.config.runtime.precision);
  const double peak = model_gemm_rate({.model = bench.config.model,
                                       .vocabulary = bench.vocabulary,
                                       .tokens = stepper.tokens(),
                                       .type = type,
                                       .rounds = {.warmup = 2, .least = 5, .seconds = 0.2}});
  const double rate = static_cast<double>(stepper.tokens()) / timing.median;
  record.table.rows.push_back({cat("length ", length, ", ", stepper.tokens(),
                                   " tokens: ", with_commas(std::llround(rate)), " tokens/s"),
                               milliseconds(timing), "100 %",
                               four_digits(total / timing.median / 1e9),
                               fixed(100 * total / timing.median / peak, 0) + " %"});
  JsonFields row = {{"length", length},
                    {"tokens", stepper.tokens()},
                    {"parameters", stepper.model().parameter_count()},
                    {"tokens_per_second", rate},
                    {"peak_memory_bytes", memory},
                    {"gemm_operations_per_second", peak},
                    {"share_of_gemm_rate", total / timing.median / peak}};
  add_timing(row, "step", timing);
  record.rows.push_back(std::move(row));
  constexpr int kSteps = 3;
  std::map<std::string, double> parts;
  {
    OperatorTimes times;
    for (int i = 0; i < kSteps; ++i) stepper.step();
    parts = times.parts();
  }
  add_parts(record, parts, timing.median, work, peak, kSteps);
  record.notes.push_back(cat("length ", length, ": peak memory ",
                             human_bytes(static_cast<double>(memory)), ", LibTorch's matrix rate ",
                             four_digits(peak / 1e9),
                             " GFLOP/s at the model's own shapes; recomputation is not counted"));
}

}  // namespace

BenchRecord bench_step(const StepBench& bench) {
  BenchRecord record{.benchmark = "step", .machine = {}, .table = {}, .rows = {}, .notes = {}};
  const auto right = [](const char* title) { return TableColumn{title, Align::kRight}; };
  record.table.columns = {
      {"part"}, right("ms"), right("share"), right("GFLOP/s"), right("of matrix rate")};
  for (const std::int64_t length : bench.lengths) bench_length(bench, length, record);
  return record;
}

}  // namespace alibi
