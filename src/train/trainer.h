// The training loop. While not done and not asked to stop: step, validate if due, save if due. What
// happens is emitted; who shows or stores it is a sink. Every rank runs the same loop; what it
// decides by is the same on all (train/agreement.h), and only the first rank has sinks and writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "data/batch_loader.h"
#include "data/batches.h"
#include "distributed/world.h"
#include "train/agreement.h"
#include "train/budget.h"
#include "train/checkpointer.h"
#include "train/emitter.h"
#include "train/gradient_accumulator.h"
#include "train/gradient_exchange.h"
#include "train/guarded_update.h"
#include "train/run_folder.h"
#include "train/state.h"
#include "train/validator.h"

namespace alibi {

// What a trainer works with; all must outlive it. `config` is resolved, precision included.
struct TrainerParts {
  const Config& config;
  const PreparedText& text;
  RunFolder& folder;
  torch::Device device;
  World& world;
  // What memory allows (train/memory_plan.h); 0: as configured.
  std::int64_t most_micro_batch_tokens = 0;
  // A moment of seconds_now() by which the last checkpoint shall stand; the first rank's counts.
  std::optional<double> deadline = {};
  Pace pace = {};                           // as a probe measured it; 0: not known yet
  std::optional<DeviceGraphs> graphs = {};  // not given: as the config asks, of the device
};

class Trainer {
 public:
  // Builds the model and draws its weights, or takes all from `resume`. Throws Error where a run
  // that is finished is resumed with a changed config.
  Trainer(const TrainerParts& parts, const std::optional<Checkpoint>& resume);
  Trainer(const Trainer&) = delete;  // its parts refer to each other
  Trainer& operator=(const Trainer&) = delete;

  // Trains to the end, to the deadline or until a signal asks to stop; either way the last finished
  // step is saved. Returns the signal, or 0. The sinks see every event, in this order.
  int run(std::vector<Sink*> sinks);
  // Trains for about so many seconds and validates once, without a sink and without a checkpoint.
  // The first rank's answer, on all ranks. Throws stopped_error where a signal came: what it cuts
  // off is no measure. The trainer is of no further use.
  Pace probe(double seconds);

  std::int64_t micro_batch_tokens() const { return gradients_.micro_batch_tokens(); }
  const Progress& progress() const { return state_.progress; }
  bool validates() const { return validator_.has_text(); }  // enough text is held out
  Gpt& model() { return state_.model; }

 private:
  StepRecord step();
  [[noreturn]] void end_at(StepRecord record, const Error& error);
  void emit_changes();
  bool validate(bool saves);
  void give_back_idle_memory();
  bool done() const;
  bool was_validated() const;
  void note_time(bool saves);
  void note_used_time();
  std::vector<std::int64_t> window_starts(std::int64_t step) const;

  const double built_from_ = seconds_now();
  TrainerParts parts_;
  Agreement agreement_;
  Emitter emitter_;
  TrainState state_;
  BatchReader reader_;
  BatchLoader loader_;
  GradientExchange exchange_;
  GradientAccumulator gradients_;
  Validator validator_;
  Checkpointer checkpointer_;
  GuardedUpdate update_;
  std::vector<std::string> changes_;  // by this resume, not yet emitted
  Pace pace_;
  RecentSeconds step_seconds_, validation_seconds_;
  bool probes_ = false;
  bool out_of_time_ = false;  // a deadline ended the run, or ends it now
};

}  // namespace alibi
