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

std::vector<std::int64_t> sizes_of(const NamedParameters& parameters) {
  std::vector<std::int64_t> sizes;
  for (const auto& [name, parameter] : parameters) sizes.push_back(parameter.numel());
  return sizes;
}

std::vector<torch::Tensor> gradients_of(const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

torch::Tensor sliced(const torch::Tensor& parameter, Slice slice) {
  if (slice.count == parameter.numel()) return parameter;
  return parameter.detach().flatten().narrow(0, slice.first, slice.count);
}

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerConfig& config)
    : Optimizer(parameters, config, Shards(sizes_of(parameters), 1), 0) {}

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerConfig& config,
                     const Shards& shards, int rank)
    : config_(config), kind_(&optimizer_kind(config)), all_(parameters) {
  for (std::size_t index = 0; index < all_.size(); ++index) {
    const auto& [name, parameter] = all_[index];
    const Slice slice = shards.slice(rank, index);
    slices_.push_back(slice);
    if (slice.count == 0) continue;
    ParameterGroup& group = group_of(kind_->rule({name, parameter.sizes().vec()}, config));
    group.names.push_back(name);
    group.parameters.push_back(sliced(parameter, slice));
    group.indices.push_back(index);
    for (auto& tensors : group.state) {
      tensors.push_back(
          torch::zeros_like(group.parameters.back(), torch::MemoryFormat::Contiguous));
    }
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

void Optimizer::update(const std::vector<torch::Tensor>& gradients, std::int64_t step,
                       double learning_rate) {
  const torch::NoGradGuard guard;
  for (ParameterGroup& group : groups_) {
    group.gradients.clear();
    for (const std::size_t index : group.indices) {
      ensure(gradients[index].defined(), "every parameter has a gradient");
      group.gradients.push_back(gradients[index]);
    }
    kind_->update(group, config_, {step, learning_rate * group.rule.learning_rate_factor});
    group.gradients.clear();
  }
  // LibTorch's fused updates do not count as a change, nor does what comes from other ranks; what
  // was packed from the weights must see that it is old (model/linear/linear_products.h).
  for (const auto& [name, parameter] : all_) parameter.unsafeGetTensorImpl()->bump_version();
}

void Optimizer::update(std::int64_t step, double learning_rate) {
  std::vector<torch::Tensor> gradients;
  for (const auto& [name, parameter] : all_) gradients.push_back(parameter.grad());
  update(gradients, step, learning_rate);
}

void Optimizer::zero_gradients() {
  for (auto& [name, parameter] : all_) parameter.mutable_grad() = torch::Tensor();
}

void Optimizer::reset() {
  const torch::NoGradGuard guard;
  for (const auto& [name, tensor] : state()) torch::Tensor(tensor).zero_();
}

std::vector<std::pair<std::string, std::size_t>> Optimizer::state_names() const {
  std::vector<std::pair<std::string, std::size_t>> names;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto& [name, parameter] = all_[i];
    for (const std::string& state : kind_->rule({name, parameter.sizes().vec()}, config_).state)
      names.emplace_back(state + "." + name, i);
  }
  return names;
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
  for (ParameterGroup& group : groups_) {
    for (std::size_t kind = 0; kind < group.state.size(); ++kind) {
      for (std::size_t i = 0; i < group.names.size(); ++i) {
        const std::string name = group.rule.state[kind] + "." + group.names[i];
        const std::size_t index = group.indices[i];
        const auto found = state.find(name);
        if (found == state.end())
          throw Error("optimizer state", "found no " + name + ", expected one for every parameter");
        const torch::Tensor& whole = all_[index].second;
        if (found->second.sizes() != whole.sizes()) {
          throw Error("optimizer state", cat(name, " has shape ", found->second.sizes(),
                                             ", expected ", whole.sizes()));
        }
        group.state[kind][i].copy_(sliced(found->second, slices_[index]));
      }
    }
  }
}

double gradient_norm(const std::vector<torch::Tensor>& gradients) {
  const torch::NoGradGuard guard;
  torch::Tensor sum;
  for (const torch::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    const torch::Tensor square = gradient.norm().to(torch::kDouble).square();
    sum = sum.defined() ? sum + square : square;
  }
  return sum.defined() ? std::sqrt(sum.item<double>()) : 0.0;
}

void clip_gradients(const std::vector<torch::Tensor>& gradients, double norm, double limit) {
  const torch::NoGradGuard guard;
  if (limit <= 0 || norm <= limit) return;
  for (const torch::Tensor& gradient : gradients) {
    if (gradient.defined()) torch::Tensor(gradient).mul_(limit / norm);
  }
}

}  // namespace alibi
