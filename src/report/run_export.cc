#include "report/run_export.h"

#include <cmath>
#include <utility>

#include "base/strings.h"
#include "report/csv.h"
#include "report/event_file.h"

namespace alibi {
namespace {

double figure(const std::optional<std::int64_t>& count) {
  return count ? static_cast<double>(*count) : kUnknownFigure;
}

std::string cell(const std::optional<std::int64_t>& count) { return count ? cat(*count) : ""; }
std::string cell(double value) { return std::isfinite(value) ? significant(value, 8) : ""; }

void add(Scalars& scalars, const char* tag, double value) {
  if (std::isfinite(value)) scalars.emplace_back(tag, static_cast<float>(value));
}

}  // namespace

void RunCsv::add(const StepRecord& step) {
  open(step.step, step.tokens);
  line_.step = step;
}

void RunCsv::add(const ValidationRecord& validation) {
  open(validation.step, validation.tokens);
  line_.validation = validation;
}

std::string RunCsv::take(bool all) {
  if (all) close();
  return std::exchange(text_, {});
}

void RunCsv::open(std::int64_t number, std::int64_t tokens) {
  if (line_.number != number) close();
  line_.number = number;
  line_.tokens = tokens;
}

void RunCsv::close() {
  const Line line = std::exchange(line_, {});
  if (line.number < 0) return;
  const StepRecord& s = line.step;
  const ValidationRecord& v = line.validation;
  text_ += cat(line.number, ",", line.tokens, ",", cell(s.loss), ",", cell(s.learning_rate), ",",
               cell(s.gradient_norm), ",", cell(tokens_per_second(s)), ",", cell(v.validation_loss),
               ",", cell(v.peak_memory_bytes), ",", csv_cell(s.skipped), "\n");
}

std::string event_record(const StepRecord& step, double wall_time) {
  Scalars scalars;
  add(scalars, "train/loss", step.loss);
  add(scalars, "train/learning_rate", step.learning_rate);
  add(scalars, "train/gradient_norm", step.gradient_norm);
  add(scalars, "train/tokens_per_second", tokens_per_second(step));
  return event_record(wall_time, step.step, scalars);
}

std::string event_record(const ValidationRecord& validation, double wall_time) {
  Scalars scalars;
  add(scalars, "valid/loss", validation.validation_loss);
  add(scalars, "valid/perplexity", std::exp(validation.validation_loss));
  add(scalars, "memory/peak_bytes", figure(validation.peak_memory_bytes));
  return event_record(wall_time, validation.step, scalars);
}

}  // namespace alibi
