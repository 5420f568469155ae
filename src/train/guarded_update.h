// What a step's gradients do: update the weights, or, where the guard refuses them, skip the step,
// roll back, or end the run.
#pragma once

#include <optional>

#include "base/error.h"
#include "config/config.h"
#include "report/records/run_records.h"
#include "train/agreement.h"
#include "train/checkpointer.h"
#include "train/gradient_exchange.h"
#include "train/optimizer/guard.h"
#include "train/run_folder.h"
#include "train/state.h"

namespace alibi {

class GuardedUpdate {
 public:
  // All outlive it.
  GuardedUpdate(const Config& config, const RunFolder& folder, TrainState& state,
                GradientExchange& exchange, Agreement& agreement, Checkpointer& checkpointer);

  // Judges `record` by its loss and gradient norm and acts on it; a step that does not reach the
  // weights says so in `record`. Returns the Error that is to end the run, by the guard's policy;
  // weights and optimizer are then untouched.
  std::optional<Error> apply(StepRecord& record);

 private:
  void update(const StepRecord& record);
  void skip();
  void roll_back(StepRecord& record);
  std::optional<Checkpoint> rollback_checkpoint() const;
  std::optional<Error> end_of_run(std::int64_t step, const Judgement& judgement) const;

  const Config& config_;
  const RunFolder& folder_;
  TrainState& state_;
  GradientExchange& exchange_;
  Agreement& agreement_;
  Checkpointer& checkpointer_;
};

}  // namespace alibi
