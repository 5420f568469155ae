// Forward and backward of a step's batch: the lanes of this rank, each in micro batches as large as
// memory allows.
#pragma once

#include <optional>

#include "config/config.h"
#include "data/batches.h"
#include "train/agreement.h"
#include "train/emitter.h"
#include "train/gradient_exchange.h"
#include "train/lane_sum.h"
#include "train/micro_batch_graphs.h"
#include "train/state.h"

namespace alibi {

struct StepFigures {
  double loss = 0, gradient_norm = 0;
};

class GradientAccumulator {
 public:
  // All outlive it. `graphs`: of the device, if any.
  GradientAccumulator(const Config& config, torch::Device device, TrainState& state,
                      GradientExchange& exchange, Agreement& agreement, Emitter& emitter,
                      const DeviceGraphs& graphs = {});
  ~GradientAccumulator();
  GradientAccumulator(const GradientAccumulator&) = delete;  // hooks of parameters refer to it
  GradientAccumulator& operator=(const GradientAccumulator&) = delete;

  // Mean loss of the batch (nats per token) and norm of its gradients, over all ranks; the exchange
  // holds the gradients, which travel while backward goes on. One process waits for its device
  // once, for these figures, by which the guard judges the step before weights change. When memory
  // runs out, graphs are given up first. When it runs out on a rank, all do the whole batch again
  // in micro batches of half the size, which the state keeps: what comes out is what a run gives
  // that had this size from the step before. Throws Error when not even one sequence fits.
  StepFigures compute(const Batch& batch);

  // Forward and backward of which nothing stays. Alone, of a short row a lane: the library compiles
  // kernels at their first use, and dies of it where memory is short, as at the height of the first
  // step. With other ranks of a micro batch: all then take what fits on every rank.
  void warm_up();

  std::int64_t micro_batch_tokens() const;  // as configured, or what memory has left of it

 private:
  // Losses of this rank's lanes, each its share of the mean: fp64, on the device, which nobody has
  // waited for. Gives the exchange the gradients where it `gives`.
  torch::Tensor forward_backward(const Batch& batch, bool gives);
  torch::Tensor loss_of_part(const Batch& batch, const PlacedBatch& rows, std::int64_t part);
  std::optional<StepFigures> figures_of(const torch::Tensor& losses);
  void accumulated(std::size_t parameter);
  void give(std::size_t parameter);
  std::int64_t rows_of_part(const Batch& batch) const;
  bool shrink_micro_batch(const Batch& batch);

  const Config& config_;
  torch::Device device_;
  TrainState& state_;
  GradientExchange& exchange_;
  Agreement& agreement_;
  Emitter& emitter_;
  std::int64_t lanes_;
  OwnLanes own_;
  LaneSum sum_;  // of lanes before the last
  MicroBatchGraphs graphs_;
  // While backward goes on, by parameter: how often its gradient was added to, and how often it is
  // in all, which warm_up() counts; 0: not known. A parameter that several recomputed blocks share
  // is added to by each.
  std::vector<int> added_, additions_;
  bool gives_ = false;
};

}  // namespace alibi
