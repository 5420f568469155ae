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

  // The whole, on the first rank; on others without the optimizer's state. Every rank calls it.
  // Shares the memory of CPU tensors.
  Checkpoint checkpoint() const;

  Gpt model;
  std::vector<torch::Tensor> parameters;
  Shards shards;
  Optimizer optimizer;
  Progress progress;

 private:
  void initialize_from_source();
  Tensors whole_optimizer_state() const;

  const Config& config_;
  const PreparedText& text_;
  torch::Device device_;
  World& world_;
};

}  // namespace alibi
