#include "train/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/strings.h"
#include "device/libtorch.h"

namespace alibi {

const std::vector<OptimizerKind>& optimizers() {
  static const std::vector<OptimizerKind> all = {adamw()};
  return all;
}

// No config key chooses yet: there is one kind.
const OptimizerKind& optimizer_kind(const OptimizerConfig&) { return optimizers().front(); }

std::int64_t optimizer_state_bytes(const OptimizerConfig& config, const ParameterShape& parameter) {
  const ParameterRule rule = optimizer_kind(config).rule(parameter, config);
  return std::ssize(rule.state) * parameter.count() * static_cast<std::int64_t>(sizeof(float));
}

NamedParameters named_parameters(const Module& model) {
  NamedParameters all;
  for (const auto& parameter : model.named_parameters())
    all.emplace_back(parameter.key(), parameter.value());
  return all;
}

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerConfig& config)
    : config_(config), kind_(&optimizer_kind(config)) {
  for (const auto& [name, parameter] : parameters) {
    ParameterGroup& group = group_of(kind_->rule({name, parameter.sizes().vec()}, config));
    group.names.push_back(name);
    group.parameters.push_back(parameter);
    for (auto& tensors : group.state)
      tensors.push_back(torch::zeros_like(parameter, torch::MemoryFormat::Contiguous));
  }
}

ParameterGroup& Optimizer::group_of(const ParameterRule& rule) {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const ParameterGroup& group) { return group.rule == rule; });
  if (found != groups_.end()) return *found;
  ParameterGroup group;
  group.rule = rule;
  group.state.resize(rule.state.size());
  return groups_.emplace_back(std::move(group));
}

void Optimizer::update(std::int64_t step, double learning_rate) {
  const torch::NoGradGuard guard;
  for (ParameterGroup& group : groups_) {
    for (const torch::Tensor& parameter : group.parameters)
      ensure(parameter.grad().defined(), "every parameter has a gradient");
    kind_->update(group, config_, {step, learning_rate * group.rule.learning_rate_factor});
    // LibTorch's fused updates do not count as a change; what was packed from the weights must see
    // that it is old (model/linear/linear_products.h).
    for (const torch::Tensor& parameter : group.parameters)
      parameter.unsafeGetTensorImpl()->bump_version();
  }
}

void Optimizer::zero_gradients() {
  for (ParameterGroup& group : groups_) {
    for (torch::Tensor& parameter : group.parameters) parameter.mutable_grad() = torch::Tensor();
  }
}

void Optimizer::reset() {
  const torch::NoGradGuard guard;
  for (const auto& [name, tensor] : state()) torch::Tensor(tensor).zero_();
}

std::map<std::string, torch::Tensor> Optimizer::state() const {
  std::map<std::string, torch::Tensor> state;
  for (const ParameterGroup& group : groups_) {
    for (std::size_t kind = 0; kind < group.state.size(); ++kind) {
      for (std::size_t i = 0; i < group.names.size(); ++i)
        state[group.rule.state[kind] + "." + group.names[i]] = group.state[kind][i];
    }
  }
  return state;
}

void Optimizer::load_state(const std::map<std::string, torch::Tensor>& state) {
  const torch::NoGradGuard guard;
  for (const auto& [name, mine] : this->state()) {
    const auto found = state.find(name);
    if (found == state.end())
      throw Error("optimizer state", "found no " + name + ", expected one for every parameter");
    if (found->second.sizes() != mine.sizes()) {
      throw Error("optimizer state",
                  cat(name, " has shape ", found->second.sizes(), ", expected ", mine.sizes()));
    }
    torch::Tensor(mine).copy_(found->second);
  }
}

double gradient_norm(const std::vector<torch::Tensor>& parameters) {
  const torch::NoGradGuard guard;
  torch::Tensor sum;
  for (const torch::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    const torch::Tensor square = parameter.grad().norm().to(torch::kDouble).square();
    sum = sum.defined() ? sum + square : square;
  }
  return sum.defined() ? std::sqrt(sum.item<double>()) : 0.0;
}

void clip_gradients(const std::vector<torch::Tensor>& parameters, double norm, double limit) {
  const torch::NoGradGuard guard;
  if (limit <= 0 || norm <= limit) return;
  for (const torch::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) parameter.mutable_grad().mul_(limit / norm);
  }
}

}  // namespace alibi
