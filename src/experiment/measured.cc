#include "experiment/measured.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/record.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "report/curve_files.h"

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

namespace {

// The file that is written last: with it, what is kept is whole.
constexpr const char* kCostFile = "cost.json";

struct Cost {
  double train_seconds = 0, train_tokens_per_second = 0;
  std::int64_t peak_memory_bytes = 0, train_targets = 0;
};

template <class Fields>
void fields(Fields& f, Cost& cost) {
  f.format({.kind = "cost", .way_out = "remove its folder: the run will be made anew"});
  f("train_seconds", cost.train_seconds);
  f("train_tokens_per_second", cost.train_tokens_per_second);
  f("peak_memory_bytes", cost.peak_memory_bytes);
  f("train_targets", cost.train_targets);
}

template <class T>
const T& only(const std::vector<T>& all, const char* key, const std::filesystem::path& file) {
  if (all.size() == 1) return all.front();
  throw Error(cat(file.string(), ": /", key), cat("found ", all.size(), ", expected one"),
              "remove its folder: it will be measured anew");
}

}  // namespace

const Curve& only_curve(const CurveSet& curves, const std::filesystem::path& file) {
  return only(curves.curves, "curves", file);
}

const AnswersResult& only_result(const AnswersSet& answers, const std::filesystem::path& file) {
  return only(answers.results, "results", file);
}

bool has_kept_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / kCostFile, ignored);
}

bool read_kept_run(const std::filesystem::path& folder, const std::vector<std::string>& tasks,
                   KeptRun& kept) {
  if (!has_kept_run(folder)) return false;
  const std::filesystem::path file = folder / kCostFile;
  const Json json = parse_json(read_file(file), file.string());
  const Cost cost = read_record<Cost>(JsonReader(json, file.string()));
  const std::filesystem::path curve = folder / "curve.json";
  kept.curves = parse_curves(read_file(curve), curve.string());
  kept.run.curve = only_curve(kept.curves, curve);
  for (const std::string& task : tasks) {
    const std::filesystem::path answers = folder / (task + ".answers.json");
    kept.answers.push_back(parse_answers(read_file(answers), answers.string()));
    kept.run.answers.push_back(only_result(kept.answers.back(), answers));
  }
  kept.run.train_seconds = cost.train_seconds;
  kept.run.train_tokens_per_second = cost.train_tokens_per_second;
  kept.run.peak_memory_bytes = cost.peak_memory_bytes;
  kept.run.train_targets = cost.train_targets;
  return true;
}

void keep_run(const std::filesystem::path& folder, const std::vector<std::string>& tasks,
              const KeptRun& kept) {
  make_folders(folder);
  write_file_atomic(folder / "curve.json", curve_json(kept.curves));
  for (std::size_t i = 0; i < tasks.size(); ++i)
    write_file_atomic(folder / (tasks[i] + ".answers.json"), answers_json(kept.answers[i]));
  Cost cost{kept.run.train_seconds, kept.run.train_tokens_per_second, kept.run.peak_memory_bytes,
            kept.run.train_targets};
  write_file_atomic(folder / kCostFile, write_json(to_json(cost), {.spaced = true}) + "\n");
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
