// A training run in the terminal: the live line, and lines between for what is rare.
#pragma once

#include "base/log.h"
#include "commands/train_summary.h"
#include "report/progress.h"
#include "train/emitter.h"

namespace alibi {

class TrainTerminal final : public Sink {
 public:
  TrainTerminal(const TrainPlan& plan, torch::Device device, std::int64_t first_step);

  void take(const Event& event) override;
  void finish() { line_.finish(); }

 private:
  void show(const StepRecord& step);
  void print(LogLevel level, const std::string& text);

  TrainPlan plan_;
  torch::Device device_;
  std::int64_t first_step_;
  double start_;
  double rate_ = 0;  // steps a second
  ProgressLine line_;
};

}  // namespace alibi
