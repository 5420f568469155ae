// Trains and measures the runs of a plan, each in a process of its own, and keeps what is done.
//
//   FOLDER/lock                held while a comparison of all runs goes on
//   FOLDER/locks/NAME          held while the runs trained as NAME are made, by whomever
//   FOLDER/configs/NAME.json   what a run was started with
//   FOLDER/logs/NAME.txt       what its processes printed
//   FOLDER/logs/NAME.usage.json   what a training that was stopped has cost so far
//   FOLDER/runs/NAME/          its run folder; usage.json is there once it is trained
//   FOLDER/curves/NAME-KEY/    what `alibi evaluate` wrote; KEY: hash of checkpoint and protocol
//   FOLDER/answers/NAME-KEY/   the same of a task
//   MEASURED/NAME-KEY/         its figures, enough for the comparison without run folder and
//                              weights, on another machine too; KEY: hash of protocols, texts and
//                              tasks
#pragma once

#include <functional>

#include "experiment/plan.h"
#include "report/comparison.h"

namespace alibi {

// What a run is doing, for a line on the terminal.
struct RunProgress {
  std::size_t run;     // index in the plan
  std::string task;    // "training", "measuring", "asking TASK"
  double done, total;  // tokens, in training; else 0 of 0
};

struct RunnerHooks {
  std::function<void(const RunProgress&)> progress;
  std::function<void(std::size_t run, const std::string& message)> finished;  // "trained in 51 s"
};

// A job makes the runs that share one training; it bears the training's name (PlannedRun::trained).
// Different jobs of a plan may run at the same time, on any machines that see the plan's folder.

// Names of the jobs of which something is missing, in the plan's order; those that start from
// others' weights last. Such a job trains its source where its weights are not there, and waits
// where another process does.
std::vector<std::string> missing_jobs(const ExperimentPlan& plan);

// Does the job `name`. Returns "RUN: why" for each run that failed. Throws Error (exit code 2) when
// the plan has no such job, LockHeld when another process does it (a job that others start from
// waits instead), and as below when stopped.
std::vector<std::string> run_job(const ExperimentPlan& plan, const std::string& name,
                                 const std::string& program, const RunnerHooks& hooks);

// A run whose process fails is reported in the comparison, and the others go on; so is one whose
// job another process does just now. Throws Error with
// the signal's exit code when stopped; the next call goes on from the checkpoint that was saved.
Comparison run_experiment(const ExperimentPlan& plan, const std::string& program,
                          const RunnerHooks& hooks);

}  // namespace alibi
