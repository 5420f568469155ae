// Trains and measures the runs of a plan, each in a process of its own, and keeps what is done.
//
//   FOLDER/lock
//   FOLDER/configs/NAME.json   what a run was started with
//   FOLDER/logs/NAME.txt       what its processes printed
//   FOLDER/runs/NAME/          its run folder; usage.json is there once it is trained
//   FOLDER/curves/NAME-KEY/    what `alibi evaluate` wrote; KEY: hash of checkpoint and protocol
#pragma once

#include <functional>

#include "experiment/plan.h"
#include "report/comparison.h"

namespace alibi {

// What a run is doing, for a line on the terminal: tokens trained so far, or targets scored.
struct RunProgress {
  std::size_t run;   // index in the plan
  const char* task;  // "training", "measuring"
  double done, total;
};

struct RunnerHooks {
  std::function<void(const RunProgress&)> progress;
  std::function<void(std::size_t run, const std::string& message)> finished;  // "trained in 51 s"
};

// A run whose process fails is reported in the comparison, and the others go on. Throws Error with
// the signal's exit code when stopped; the next call goes on from the checkpoint that was saved.
Comparison run_experiment(const ExperimentPlan& plan, const std::string& program,
                          const RunnerHooks& hooks);

}  // namespace alibi
