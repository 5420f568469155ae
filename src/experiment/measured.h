// Reads back what other processes of a comparison wrote.
#pragma once

#include <filesystem>
#include <string>

#include "report/comparison.h"
#include "report/records/run_log.h"

namespace alibi {

// What training cost, in a run's folder once it is trained.
inline constexpr const char* kUsageFile = "usage.json";
struct Usage {
  double seconds = 0;  // of the clock, over all starts
  std::int64_t peak_memory_bytes = 0;
};
Usage read_usage(const std::filesystem::path& file);
std::string usage_json(const Usage& usage);

// Of a run's log: the last step's tokens (0: no step yet), the steps' own times together, tokens/s
// from their median, and the highest memory by the last validation: the device's, or on the
// processor the process's (0: not logged).
struct TrainingTotals {
  std::int64_t tokens = 0, peak_memory_bytes = 0;
  double seconds = 0, tokens_per_second = kNotMeasured;
};
TrainingTotals training_totals(const RunLog& log);

// The one that a file of one run holds. Throw Error where it holds none or several.
const Curve& only_curve(const CurveSet& curves, const std::filesystem::path& file);
const AnswersResult& only_result(const AnswersSet& answers, const std::filesystem::path& file);

// What is kept of a run in a folder of its own: curve.json, TASK.answers.json, and at last
// cost.json.
struct KeptRun {
  ComparedRun run;  // without variant, seed and folder
  CurveSet curves;  // protocol and text of its one curve
  std::vector<AnswersSet> answers;
};
bool has_kept_run(const std::filesystem::path& folder);
// `tasks`: names, in order. False where the folder holds no whole one. Throws Error where a file of
// it is damaged.
bool read_kept_run(const std::filesystem::path& folder, const std::vector<std::string>& tasks,
                   KeptRun& kept);
void keep_run(const std::filesystem::path& folder, const std::vector<std::string>& tasks,
              const KeptRun& kept);

}  // namespace alibi
