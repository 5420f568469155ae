#include "report/run_log.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "report/csv.h"
#include "report/event_file.h"

namespace alibi {
namespace {

using LogLine = nlohmann::json;

// Not finite numbers are written as strings.
double number(const LogLine& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : kUnknownFigure;
}

std::int64_t whole(const LogLine& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_integer() ? found->get<std::int64_t>() : -1;
}

LoggedStep step_of(const LogLine& line) {
  LoggedStep step;
  step.step = whole(line, "step");
  step.tokens = whole(line, "tokens");
  step.loss = number(line, "loss");
  step.learning_rate = number(line, "learning_rate");
  step.gradient_norm = number(line, "gradient_norm");
  const double seconds = number(line, "seconds");
  if (seconds > 0 && step.step > 0)
    step.tokens_per_second =
        static_cast<double>(step.tokens) / static_cast<double>(step.step) / seconds;
  if (const auto why = line.find("skipped"); why != line.end() && why->is_string())
    step.skipped = why->get<std::string>();
  return step;
}

std::string cell(double value) { return std::isfinite(value) ? significant(value, 8) : ""; }

void add(Scalars& scalars, const char* tag, double value) {
  if (std::isfinite(value)) scalars.emplace_back(tag, static_cast<float>(value));
}

}  // namespace

RunLog parse_run_log(std::string_view text) {
  RunLog log;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const LogLine line = LogLine::parse(text.substr(0, end), nullptr, false);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.is_object() || whole(line, "step") < 0) continue;
    if (line.contains("validation_loss")) {
      log.validations.push_back({whole(line, "step"), whole(line, "tokens"),
                                 number(line, "validation_loss"),
                                 number(line, "peak_memory_bytes")});
    } else if (line.contains("loss")) {
      log.steps.push_back(step_of(line));
    }
  }
  return log;
}

std::string run_csv(const RunLog& log) {
  std::map<std::int64_t, std::pair<const LoggedStep*, const LoggedValidation*>> lines;
  for (const LoggedStep& step : log.steps) lines[step.step].first = &step;
  for (const LoggedValidation& validation : log.validations)
    lines[validation.step].second = &validation;
  std::string csv =
      "step,tokens,loss,learning_rate,gradient_norm,tokens_per_second,validation_loss,"
      "peak_memory_bytes,skipped\n";
  const LoggedStep no_step;
  const LoggedValidation no_validation;
  for (const auto& [number, line] : lines) {
    const LoggedStep& s = line.first != nullptr ? *line.first : no_step;
    const LoggedValidation& v = line.second != nullptr ? *line.second : no_validation;
    csv += cat(number, ",", line.first != nullptr ? s.tokens : v.tokens, ",", cell(s.loss), ",",
               cell(s.learning_rate), ",", cell(s.gradient_norm), ",", cell(s.tokens_per_second),
               ",", cell(v.loss), ",", cell(v.peak_memory_bytes), ",", csv_cell(s.skipped), "\n");
  }
  return csv;
}

std::string run_event_records(const RunLog& log, const ToldLines& told, double wall_time) {
  std::string records;
  for (std::size_t i = told.steps; i < log.steps.size(); ++i) {
    const LoggedStep& step = log.steps[i];
    Scalars scalars;
    add(scalars, "train/loss", step.loss);
    add(scalars, "train/learning_rate", step.learning_rate);
    add(scalars, "train/gradient_norm", step.gradient_norm);
    add(scalars, "train/tokens_per_second", step.tokens_per_second);
    records += event_record(wall_time, step.step, scalars);
  }
  for (std::size_t i = told.validations; i < log.validations.size(); ++i) {
    const LoggedValidation& validation = log.validations[i];
    Scalars scalars;
    add(scalars, "valid/loss", validation.loss);
    add(scalars, "valid/perplexity", std::exp(validation.loss));
    add(scalars, "memory/peak_bytes", validation.peak_memory_bytes);
    records += event_record(wall_time, validation.step, scalars);
  }
  return records;
}

}  // namespace alibi
