#include "experiment/measured.h"

#include <algorithm>
#include <vector>

#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/record.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace alibi {

template <class Fields>
void fields(Fields& f, Usage& usage) {
  f.format({.kind = "usage", .way_out = "remove it: it will be written anew"});
  f("seconds", usage.seconds);
  f("peak_memory_bytes", usage.peak_memory_bytes);
}

Usage read_usage(const std::filesystem::path& file) {
  const Json json = parse_json(read_file(file), file.string());
  return read_record<Usage>(JsonReader(json, file.string()));
}

std::string usage_json(const Usage& usage) {
  return write_json(to_json(usage), {.spaced = true}) + "\n";
}

TrainingTotals training_totals(const RunLog& log) {
  TrainingTotals totals;
  for (const ValidationRecord& validation : log.validations) {
    totals.peak_memory_bytes =
        std::max(totals.peak_memory_bytes, validation.peak_memory_bytes.value_or(0));
  }
  if (log.steps.empty()) return totals;
  std::vector<double> seconds;
  for (const StepRecord& step : log.steps) {
    seconds.push_back(step.seconds);
    totals.seconds += step.seconds;
  }
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  const StepRecord& last = log.steps.back();
  totals.tokens = last.tokens;
  const std::int64_t step_tokens = last.tokens / std::max<std::int64_t>(1, last.step);
  totals.tokens_per_second = static_cast<double>(step_tokens) / *middle;
  return totals;
}

}  // namespace alibi
