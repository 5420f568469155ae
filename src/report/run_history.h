// What a page shows of a run, kept in bounded memory however long the run is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/plot.h"
#include "report/records/run_records.h"

namespace alibi {

// A line over tokens: means of groups of records side by side. Groups double when there are many.
class ThinnedLine {
 public:
  void add(std::int64_t tokens, double value);  // one that is not finite is in no mean
  std::vector<PlotPoint> points() const;

 private:
  struct Group {
    std::int64_t tokens = 0;  // of its last record
    std::int64_t records = 0, finite = 0;
    double sum = 0;  // of the finite ones
  };
  std::int64_t group_size_ = 1;
  std::vector<Group> groups_;
};

struct RunHistory {
  void add(const StepRecord& step);
  void add(const ValidationRecord& validation);

  ThinnedLine loss, validation_loss, learning_rate, gradient_norm, tokens_per_second;
  std::optional<StepRecord> last_step;
  std::optional<ValidationRecord> last_validation;
  std::optional<std::int64_t> saved_step;  // of the newest checkpoint
  std::int64_t skipped_steps = 0;
};

}  // namespace alibi
