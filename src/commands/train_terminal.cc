#include "commands/train_terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "base/overloaded.h"
#include "base/strings.h"
#include "device/memory.h"
#include "report/table.h"

namespace alibi {
namespace {

// Empty for a step that reached the weights, and for one that an Error is about to name.
std::string line_of(const StepRecord& step) {
  if (step.skipped.empty() || step.ends_run) return "";
  const std::string head = cat("step ", step.step, ": ", step.skipped);
  if (!step.rolled_back_to) return head + "; step skipped";
  return cat(head, "; rolled back to step ", *step.rolled_back_to,
             ", its later batches are left out");
}
std::string line_of(const ValidationRecord& v) {
  return cat("step ", v.step, "  validation loss ", fixed(v.validation_loss, 4), "  perplexity ",
             perplexity_text(v.validation_loss), v.best ? "  (best so far)" : "");
}
std::string line_of(const ChangeRecord& r) {
  return cat("note: from step ", r.step, " on ", r.changed);
}
std::string line_of(const MicroBatchRecord& r) {
  return cat("step ", r.step, " does not fit into memory; from here on in micro batches of ",
             r.tokens, " tokens");
}
std::string line_of(const SaveRecord& save) {
  return cat("step ", save.step, ": saved ", save.folder);
}
std::string line_of(const SaveFailure& failure) { return "not saved: " + failure.problem; }

}  // namespace

TrainTerminal::TrainTerminal(const TrainPlan& plan, torch::Device device, std::int64_t first_step)
    : plan_(plan), device_(device), first_step_(first_step), start_(seconds_now()), line_(stderr) {}

void TrainTerminal::take(const Event& event) {
  std::visit(
      Overloaded{
          [&](const StepRecord& step) {
            show(step);
            print(LogLevel::kInfo, line_of(step));
          },
          [&](const ValidationRecord& validation) { print(LogLevel::kInfo, line_of(validation)); },
          [&](const SaveRecord& save) { print(LogLevel::kDebug, line_of(save)); },
          [&](const ChangeRecord& change) { print(LogLevel::kInfo, line_of(change)); },
          [](const EndRecord&) {},
          [&](const auto& failure) { print(LogLevel::kWarning, line_of(failure)); }},
      event);
}

void TrainTerminal::show(const StepRecord& step) {
  // A mean over the last steps: single steps jump about.
  rate_ = rate_ <= 0 ? 1 / step.seconds : 0.9 * rate_ + 0.1 / step.seconds;
  const double tokens_per_second = rate_ * static_cast<double>(plan_.tokens_per_step);
  const double operations = tokens_per_second * plan_.operations_per_token;
  const double per_step = (seconds_now() - start_) / static_cast<double>(step.step - first_step_);
  double eta = per_step * static_cast<double>(plan_.steps - step.step);
  if (plan_.deadline) eta = std::clamp(*plan_.deadline - seconds_now(), 0.0, eta);
  line_.show({.record = step,
              .steps = plan_.steps,
              .tokens_per_second = tokens_per_second,
              .gflops = operations / 1e9,
              .share_of_peak = operations / plan_.gemm_rate,
              .memory_bytes = device_.is_cuda() ? peak_memory_bytes(device_) : resident_bytes(),
              .eta_seconds = eta});
}

void TrainTerminal::print(LogLevel level, const std::string& text) {
  if (text.empty()) return;
  line_.interrupt();
  log(level, text);
}

}  // namespace alibi
