#include "report/run_export.h"

#include <cmath>
#include <map>
#include <utility>

#include "base/strings.h"
#include "report/csv.h"
#include "report/event_file.h"

namespace alibi {
namespace {

double figure(const std::optional<std::int64_t>& count) {
  return count ? static_cast<double>(*count) : kUnknownFigure;
}

std::string cell(double value) { return std::isfinite(value) ? significant(value, 8) : ""; }

void add(Scalars& scalars, const char* tag, double value) {
  if (std::isfinite(value)) scalars.emplace_back(tag, static_cast<float>(value));
}

}  // namespace

std::string run_csv(const RunLog& log) {
  std::map<std::int64_t, std::pair<const StepRecord*, const ValidationRecord*>> lines;
  for (const StepRecord& step : log.steps) lines[step.step].first = &step;
  for (const ValidationRecord& validation : log.validations)
    lines[validation.step].second = &validation;
  std::string csv =
      "step,tokens,loss,learning_rate,gradient_norm,tokens_per_second,validation_loss,"
      "peak_memory_bytes,skipped\n";
  const StepRecord no_step;
  const ValidationRecord no_validation;
  for (const auto& [number, line] : lines) {
    const StepRecord& s = line.first != nullptr ? *line.first : no_step;
    const ValidationRecord& v = line.second != nullptr ? *line.second : no_validation;
    csv += cat(number, ",", line.first != nullptr ? s.tokens : v.tokens, ",", cell(s.loss), ",",
               cell(s.learning_rate), ",", cell(s.gradient_norm), ",", cell(tokens_per_second(s)),
               ",", cell(v.validation_loss), ",", cell(figure(v.peak_memory_bytes)), ",",
               csv_cell(s.skipped), "\n");
  }
  return csv;
}

std::string run_event_records(const RunLog& log, const ExportedCounts& exported, double wall_time) {
  std::string records;
  for (std::size_t i = exported.steps; i < log.steps.size(); ++i) {
    const StepRecord& step = log.steps[i];
    Scalars scalars;
    add(scalars, "train/loss", step.loss);
    add(scalars, "train/learning_rate", step.learning_rate);
    add(scalars, "train/gradient_norm", step.gradient_norm);
    add(scalars, "train/tokens_per_second", tokens_per_second(step));
    records += event_record(wall_time, step.step, scalars);
  }
  for (std::size_t i = exported.validations; i < log.validations.size(); ++i) {
    const ValidationRecord& validation = log.validations[i];
    Scalars scalars;
    add(scalars, "valid/loss", validation.validation_loss);
    add(scalars, "valid/perplexity", std::exp(validation.validation_loss));
    add(scalars, "memory/peak_bytes", figure(validation.peak_memory_bytes));
    records += event_record(wall_time, validation.step, scalars);
  }
  return records;
}

}  // namespace alibi
