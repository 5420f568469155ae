// What training changes: weights, the optimizer's state and progress. Together with the config and
// the text it is the whole of a run. Of the optimizer's state a rank holds its share.
#pragma once

#include <optional>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "data/prepared.h"
#include "distributed/world.h"
#include "model/gpt.h"
#include "train/optimizer/optimizer.h"

namespace alibi {

class TrainState {
 public:
  // The state of `resume`; without it the one before the first step: weights drawn from run.seed or
  // taken from initialize.from. `config`, `text` and `world` outlive it.
  TrainState(const Config& config, const PreparedText& text, torch::Device device, World& world,
             const std::optional<Checkpoint>& resume);

  // Weights and optimizer alone; progress goes on.
  void load_tensors(const Checkpoint& checkpoint);
  void reset_tensors();  // as before the first step

  // Shares the memory of CPU tensors. Without the optimizer's state where ranks share that.
  Checkpoint checkpoint() const;
  bool shares_optimizer() const { return shards.ranks() > 1; }
  TensorShapes optimizer_shapes() const;              // of all its tensors
  std::vector<TensorSlice> optimizer_slices() const;  // what this rank has of them

  Gpt model;
  std::vector<torch::Tensor> parameters;
  Shards shards;
  Optimizer optimizer;
  Progress progress;

 private:
  void initialize_from_source();
  void read_source_again();

  // What initialize.from held at the start, where the guard may come back to it: by then that run
  // may have gone on, or be gone.
  Tensors start_weights_;

  const Config& config_;
  const PreparedText& text_;
  torch::Device device_;
  int owner_;  // this rank, as `shards` counts
};

}  // namespace alibi
