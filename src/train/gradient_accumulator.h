// Forward and backward of a step's batch: the lanes of this rank, each in micro batches as large as
// memory allows.
#pragma once

#include "config/config.h"
#include "data/batches.h"
#include "train/agreement.h"
#include "train/emitter.h"
#include "train/lane_sum.h"
#include "train/state.h"

namespace alibi {

class GradientAccumulator {
 public:
  // All outlive it.
  GradientAccumulator(const Config& config, torch::Device device, TrainState& state,
                      Agreement& agreement, Emitter& emitter);

  // Mean loss of the batch (nats per token), over all ranks; the parameters hold the gradients of
  // this rank's lanes. When memory runs out on a rank, all do the whole batch again in micro
  // batches of half the size, which the state keeps: what comes out is what a run gives that had
  // this size from the step before. Throws Error when not even one sequence fits.
  double compute(Batch& batch);

  // A short row a lane, forward and backward, of which nothing stays: the library compiles kernels
  // at their first use, and dies of it where memory is short, as at the height of the first step.
  void warm_up();

  std::int64_t micro_batch_tokens() const;  // as configured, or what memory has left of it

 private:
  // Losses of this rank's lanes, each its share of the mean.
  std::vector<double> forward_backward(Batch& batch);
  std::int64_t rows_of_part(const Batch& batch) const;
  bool shrink_micro_batch(const Batch& batch);

  const Config& config_;
  torch::Device device_;
  TrainState& state_;
  Agreement& agreement_;
  Emitter& emitter_;
  std::int64_t lanes_;
  OwnLanes own_;
};

}  // namespace alibi
