// Forward and backward of micro batches as graphs of a device (runtime.cuda_graph). The first micro
// batch of a step, which makes the gradients, and later ones, which add to them, are a graph each.
//
// What a graph does must depend on its tensors alone. So it must give what the same work gave just
// before, queued kernel by kernel, bit for bit; else it is set aside.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "device/device_graph.h"

namespace alibi {

// A batch, or some rows of one, where it is computed.
struct PlacedBatch {
  torch::Tensor inputs_BT, targets_BT, starts_BT;  // int64; starts: undefined where there are none

  PlacedBatch rows(std::int64_t first, std::int64_t count) const;
};

// Why a run has no graphs on any device; "": it has.
std::string why_no_graphs(const Config& config);
// The same of a run on `device`, or the module that makes them.
DeviceGraphs graphs_for(const Config& config, torch::Device device);
// What to tell a user who asked for graphs and gets none; "": nothing.
std::string graphs_without_effect(const Config& config, const DeviceGraphs& graphs);

class MicroBatchGraphs {
 public:
  // Forward and backward of a micro batch: adds to the parameters' gradients. Gives the loss, fp64,
  // for which nobody has waited.
  using Work = std::function<torch::Tensor(const PlacedBatch&)>;

  MicroBatchGraphs(const DeviceGraphs& graphs, std::vector<torch::Tensor> parameters)
      : module_(graphs.module), parameters_(std::move(parameters)) {}

  // `work` on one micro batch, by its graph where there is one. The loss and gradients that it
  // gives hold until the next call. `repeatable`: whether `work` does the same for all numbers of
  // such a batch's shapes; the same for all micro batches of a step. They have one shape until one
  // of another comes.
  torch::Tensor run(const PlacedBatch& batch, bool repeatable, const Work& work);

  bool in_use() const { return module_ != nullptr; }
  // Kernels are queued one by one from now on, with a warning; false: they were already.
  bool set_aside(const std::string& reason);

 private:
  struct Graph {
    torch::Tensor loss;
    CapturedGraph captured;
  };

  // `first`: of a step, before there are gradients.
  torch::Tensor capture(bool first, const Work& work);
  std::string fault_of_capture(bool first, const Work& work, const torch::Tensor& loss,
                               const std::vector<torch::Tensor>& gradients);
  void set_gradients(const std::vector<torch::Tensor>& gradients);
  void make_weights_new();
  void forget();

  const DeviceGraphModule* module_;  // null: none, or set aside
  std::vector<torch::Tensor> parameters_;
  PlacedBatch inputs_;                    // that graphs read
  std::vector<torch::Tensor> gradients_;  // that they write
  Graph first_, later_;
};

}  // namespace alibi
