// log.jsonl of a run: cut back to where the run goes on, then a line for each event that it keeps.
#pragma once

#include <optional>

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "report/records/run_log.h"
#include "train/due.h"
#include "train/emitter.h"
#include "train/run_folder.h"

namespace alibi {

class LogSink final : public Sink {
 public:
  // Keeps the lines that `resume` promises, none without it. Warns of those that are damaged or
  // lost: that harms no weights, but curves. `config` outlives it. Throws Error where the log
  // cannot be read or opened.
  LogSink(const Config& config, const RunFolder& folder, const std::optional<Checkpoint>& resume);

  // What earlier starts of the run have logged; once.
  RunLog take_earlier() { return std::move(earlier_); }

  void take(const Event& event) override;
  void sync() override { writer_.sync(); }

 private:
  LoggedSteps steps_;
  RunLog earlier_;
  LogWriter writer_;  // opened behind the cut, which may replace the file
};

}  // namespace alibi
