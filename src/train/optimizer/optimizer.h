// An optimizer: parameters in groups that are updated alike, and the state kept for each parameter.
//
// A kind of optimizer is a rule for each parameter, and one row in optimizers(); training,
// checkpoints and the memory plan ask the rule.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "device/tensor.h"
#include "model/module.h"
#include "model/shapes.h"
#include "train/shards.h"

namespace alibi {

struct ParameterGroup;

// What a device takes of UpdateStep::together.
inline constexpr std::int64_t kMatricesTogether = 32 << 20;

struct UpdateStep {
  std::int64_t number = 1;   // counts from 1: moments that start at 0 are corrected by it
  double learning_rate = 0;  // of the group
  torch::ScalarType products = torch::kFloat;  // of matrices, where an update has any
  // Matrices of one shape at once, as many as have so many numbers (a larger one alone), in few
  // operators: for a device, where launching one for each matrix takes longer than its work. How
  // many they are may decide last bits, and with them the number of ranks. 0: each alone.
  std::int64_t together = 0;
};

// fp32, 0 before the first update.
struct StateTensor {
  std::string name;
  bool by_row = false;  // a number for each row of a matrix, else of the parameter's shape
  bool operator==(const StateTensor&) const = default;
};

// How an optimizer treats a parameter. Parameters with equal rules form a group.
struct ParameterRule {
  double weight_decay = 0;
  double learning_rate_factor = 1;
  std::vector<StateTensor> state;
  // Updates a group in place. A parameter's result does not depend on which others are with it, but
  // for UpdateStep::together.
  void (*update)(ParameterGroup& group, const OptimizerConfig& config,
                 const UpdateStep& step) = nullptr;
  // The update reads a parameter whole, so that one process owns it. Else it goes element by
  // element: an element's result does not depend on which others are with it in a slice.
  bool whole = false;
  bool operator==(const ParameterRule&) const = default;
};

// What is updated: parameters, or of each the slice that this process owns.
struct ParameterGroup {
  ParameterRule rule;
  std::vector<std::string> names;
  std::vector<torch::Tensor> parameters;
  std::vector<torch::Tensor> gradients;           // of one update
  std::vector<std::vector<torch::Tensor>> state;  // by rule.state, then by parameter
  std::vector<std::size_t> indices;               // of the parameters, in the optimizer's order
};

struct OptimizerKind {
  OptimizerAlgorithm algorithm;
  ParameterRule (*rule)(const ParameterShape& parameter, const OptimizerConfig& config);
};

OptimizerKind adamw();
OptimizerKind muon();
OptimizerKind normuon();
OptimizerKind mud();
const std::vector<OptimizerKind>& optimizers();

// By the kind that `config` asks for.
ParameterRule rule_for(const ParameterShape& parameter, const OptimizerConfig& config);

// Bytes of the state that it keeps for a parameter.
std::int64_t optimizer_state_bytes(const OptimizerConfig& config, const ParameterShape& parameter);

// Among how many of the ranks the state is divided: with "fast" each keeps all of it.
constexpr int owners(Reduce reduce, int ranks) { return reduce == Reduce::kFast ? 1 : ranks; }

// Who updates what of these parameters.
Shards shards_for(const std::vector<ParameterShape>& parameters, const OptimizerConfig& config,
                  int ranks);

using NamedParameters = std::vector<std::pair<std::string, torch::Tensor>>;
NamedParameters named_parameters(const Module& model);

std::vector<ParameterShape> shapes_of(const NamedParameters& parameters);
std::vector<torch::Tensor> gradients_of(const std::vector<torch::Tensor>& parameters);

// A parameter's elements first .. first + count - 1, flat; the parameter itself where these are
// all.
torch::Tensor sliced(const torch::Tensor& parameter, Slice slice);

class Optimizer {
 public:
  // `parameters` are fp32; their order is the order of updates within a group. Of each the slice
  // that `shards` gives `rank` is updated; it must be of shards_for(). `products`: the type of the
  // update's matrix products.
  Optimizer(const NamedParameters& parameters, const OptimizerConfig& config,
            torch::ScalarType products, const Shards& shards, int rank);
  // Owns them whole.
  Optimizer(const NamedParameters& parameters, const OptimizerConfig& config,
            torch::ScalarType products = torch::kFloat);

  // One update from the gradients of what is owned, by parameter; all must be defined. `step`
  // counts from 1.
  void update(const std::vector<torch::Tensor>& gradients, std::int64_t step, double learning_rate);
  void update(std::int64_t step, double learning_rate);  // from the parameters' own
  void zero_gradients();
  void reset();  // the state before the first update

  // Every state tensor, owned or not, in one order on all ranks.
  struct StateShape {
    std::string name;
    std::size_t parameter;
    std::vector<std::int64_t> sizes;
  };
  std::vector<StateShape> state_shapes() const;
  // State tensors by name, "moment_1.<parameter>", of what is owned; they share memory with the
  // optimizer's. Loading takes those of whole parameters, copies what is owned and throws Error
  // when one is missing or of another shape.
  std::map<std::string, torch::Tensor> state() const;
  void load_state(const std::map<std::string, torch::Tensor>& state);

 private:
  ParameterGroup& group_of(const ParameterRule& rule);

  OptimizerConfig config_;
  torch::ScalarType products_;
  NamedParameters all_;  // whole
  std::vector<Slice> slices_;
  std::vector<ParameterGroup> groups_;
};

// What was made from it and kept while it stays as it is (model/linear/linear_products.h) is old.
void mark_changed(const torch::Tensor& parameter);

// Square root of the sum of squares over all gradients: each one's norm in its own precision, their
// squares summed in fp64; those that are not defined count 0.
double gradient_norm(const std::vector<torch::Tensor>& gradients);
// The norms of the defined ones, fp64, where they are (nobody waits), and what gradient_norm()
// makes of them.
torch::Tensor gradient_norms(const std::vector<torch::Tensor>& gradients);
double joint_norm(std::span<const double> norms);

// Multiplies every gradient by limit / norm when norm exceeds limit > 0.
void clip_gradients(const std::vector<torch::Tensor>& gradients, double norm, double limit);

}  // namespace alibi
