// AdamW (Loshchilov and Hutter 2019): m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;
// w -= lr * (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay * w). Decay on matrices only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "device/libtorch.h"

namespace alibi {

class AdamW {
 public:
  // `parameters` by name, fp32; their order is the order of updates.
  AdamW(std::vector<std::pair<std::string, torch::Tensor>> parameters,
        const OptimizerConfig& config);

  // One update from the parameters' gradients; all must be defined. `step` counts from 1.
  void update(std::int64_t step, double learning_rate);
  void zero_gradients();
  void reset();  // all moments 0, as before the first update

  // Moments by name: "moment_1.<parameter>", "moment_2.<parameter>". Loading copies into place and
  // throws Error when a name or shape is missing.
  std::map<std::string, torch::Tensor> state() const;
  void load_state(const std::map<std::string, torch::Tensor>& state);

 private:
  struct Group {
    double weight_decay;
    std::vector<std::string> names;
    std::vector<torch::Tensor> parameters, moment_1, moment_2;
  };
  OptimizerConfig config_;
  Group matrices_, others_;
};

}  // namespace alibi
