// What a run shows while it works: a line of training figures, or a task with a count and an end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "report/live_line.h"
#include "report/records/run_records.h"

namespace alibi {

// A step, and figures that it does not hold: those that are below 0 or NaN are left out.
struct TrainLine {
  StepRecord record;
  std::int64_t steps = 0;         // of the whole run; 0: unknown
  double tokens_per_second = -1;  // of the last steps
  double gflops = -1;             // GFLOP/s
  double share_of_peak = -1;      // fraction of the measured GEMM rate
  std::int64_t memory_bytes = -1;
  double eta_seconds = -1;
};

// Lines that are made from now on are JSON objects, at most one a second, for programs that watch:
// {"task": "training", "step": ..} and {"task": "tokenising", "done": .., "total": .., "unit": ..}.
void set_progress_json();

class ProgressLine {
 public:
  explicit ProgressLine(std::FILE* out, LiveOptions options = {});
  void show(const TrainLine& line) noexcept;
  void interrupt() noexcept { line_.interrupt(); }  // before other output on the same stream
  void finish() noexcept { line_.finish(); }        // leaves the last line; also on destruction
  bool live() const noexcept { return line_.live(); }

 private:
  LiveLine line_;
};

// "tokenising  45 %  18.2 MiB of 40.1 MiB  9.1 MiB/s  ETA 12 s"; the rate is the mean since the
// start, without what had been done before it.
class TaskProgress {
 public:
  // total <= 0: unknown. unit "bytes" is shown in KiB and so on, anything else as a count.
  TaskProgress(std::FILE* out, std::string label, double total, std::string unit,
               LiveOptions options = {}, double done_before = 0);
  void show(double done) noexcept;
  void interrupt() noexcept { line_.interrupt(); }
  void finish() noexcept { line_.finish(); }

 private:
  std::vector<LivePart> parts(double done) const;
  std::string json(double done) const;

  LiveLine line_;
  std::string label_;
  double total_;
  std::string unit_;
  double done_before_;
  double start_;
};

}  // namespace alibi
