#include "train/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/strings.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

std::vector<std::int64_t> sizes_of(const StateTensor& state, const ParameterShape& parameter) {
  return state.by_row ? std::vector{parameter.sizes.front()} : parameter.sizes;
}

std::string full_name(const StateTensor& state, const std::string& parameter) {
  return state.name + "." + parameter;
}

}  // namespace

const std::vector<OptimizerKind>& optimizers() {
  static const std::vector<OptimizerKind> all = {adamw(), muon(), normuon(), mud()};
  return all;
}

ParameterRule rule_for(const ParameterShape& parameter, const OptimizerConfig& config) {
  const auto kind = std::ranges::find(optimizers(), config.kind, &OptimizerKind::algorithm);
  ensure(kind != optimizers().end(), "every optimizer.kind has its row");
  return kind->rule(parameter, config);
}

std::int64_t optimizer_state_bytes(const OptimizerConfig& config, const ParameterShape& parameter) {
  std::int64_t elements = 0;
  for (const StateTensor& state : rule_for(parameter, config).state)
    elements += ParameterShape{"", sizes_of(state, parameter)}.count();
  return elements * static_cast<std::int64_t>(sizeof(float));
}

Shards shards_for(const std::vector<ParameterShape>& parameters, const OptimizerConfig& config,
                  int ranks) {
  std::vector<std::int64_t> sizes;
  std::vector<bool> whole;
  for (const ParameterShape& parameter : parameters) {
    sizes.push_back(parameter.count());
    whole.push_back(rule_for(parameter, config).whole);
  }
  return {sizes, ranks, whole};
}

NamedParameters named_parameters(const Module& model) {
  NamedParameters all;
  for (const auto& parameter : model.named_parameters())
    all.emplace_back(parameter.key(), parameter.value());
  return all;
}

std::vector<ParameterShape> shapes_of(const NamedParameters& parameters) {
  std::vector<ParameterShape> shapes;
  for (const auto& [name, parameter] : parameters)
    shapes.push_back({name, parameter.sizes().vec()});
  return shapes;
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

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerConfig& config,
                     torch::ScalarType products)
    : Optimizer(parameters, config, products, shards_for(shapes_of(parameters), config, 1), 0) {}

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerConfig& config,
                     torch::ScalarType products, const Shards& shards, int rank)
    : config_(config), products_(products), all_(parameters) {
  const std::vector<ParameterShape> shapes = shapes_of(all_);
  for (std::size_t index = 0; index < all_.size(); ++index) {
    const auto& [name, parameter] = all_[index];
    const Slice slice = shards.slice(rank, index);
    slices_.push_back(slice);
    if (slice.count == 0) continue;
    const ParameterRule rule = rule_for(shapes[index], config);
    ensure(!rule.whole || slice.count == parameter.numel(), "what is read whole is not cut");
    ParameterGroup& group = group_of(rule);
    group.names.push_back(name);
    group.parameters.push_back(sliced(parameter, slice));
    group.indices.push_back(index);
    const torch::Tensor& owned = group.parameters.back();
    for (std::size_t kind = 0; kind < rule.state.size(); ++kind) {
      group.state[kind].push_back(
          rule.whole ? torch::zeros(sizes_of(rule.state[kind], shapes[index]), owned.options())
                     : torch::zeros_like(owned, torch::MemoryFormat::Contiguous));
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
    group.rule.update(group, config_,
                      {.number = step,
                       .learning_rate = learning_rate * group.rule.learning_rate_factor,
                       .products = products_,
                       .together = group.parameters.front().is_cpu() ? 0 : kMatricesTogether});
    group.gradients.clear();
  }
  // LibTorch's fused updates do not count as a change, nor does what comes from other ranks.
  for (const auto& [name, parameter] : all_) mark_changed(parameter);
}

void Optimizer::update(std::int64_t step, double learning_rate) {
  std::vector<torch::Tensor> gradients;
  for (const auto& [name, parameter] : all_) gradients.push_back(parameter.grad());
  update(gradients, step, learning_rate);
}

void mark_changed(const torch::Tensor& parameter) {
  parameter.unsafeGetTensorImpl()->bump_version();
}

void Optimizer::zero_gradients() {
  for (auto& [name, parameter] : all_) parameter.mutable_grad() = torch::Tensor();
}

void Optimizer::reset() {
  const torch::NoGradGuard guard;
  for (const auto& [name, tensor] : state()) torch::Tensor(tensor).zero_();
}

std::vector<Optimizer::StateShape> Optimizer::state_shapes() const {
  std::vector<StateShape> all;
  const std::vector<ParameterShape> shapes = shapes_of(all_);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const StateTensor& state : rule_for(shapes[i], config_).state)
      all.push_back({full_name(state, shapes[i].name), i, sizes_of(state, shapes[i])});
  }
  return all;
}

std::map<std::string, torch::Tensor> Optimizer::state() const {
  std::map<std::string, torch::Tensor> state;
  for (const ParameterGroup& group : groups_) {
    for (std::size_t kind = 0; kind < group.state.size(); ++kind) {
      for (std::size_t i = 0; i < group.names.size(); ++i)
        state[full_name(group.rule.state[kind], group.names[i])] = group.state[kind][i];
    }
  }
  return state;
}

void Optimizer::load_state(const std::map<std::string, torch::Tensor>& state) {
  const torch::NoGradGuard guard;
  const std::map<std::string, torch::Tensor> owned = this->state();
  for (const StateShape& shape : state_shapes()) {
    const auto own = owned.find(shape.name);
    if (own == owned.end()) continue;
    const auto found = state.find(shape.name);
    if (found == state.end()) {
      throw Error("optimizer state",
                  "found no " + shape.name + ", expected one for every parameter");
    }
    const torch::Tensor& whole = found->second;
    if (whole.sizes() != shape.sizes) {
      throw Error("optimizer state", cat(shape.name, " has shape ", whole.sizes(), ", expected ",
                                         at::IntArrayRef(shape.sizes)));
    }
    torch::Tensor mine = own->second;
    const bool all = mine.numel() == whole.numel();
    mine.copy_(all ? whole : sliced(whole, slices_[shape.parameter]));
  }
}

namespace {

std::vector<torch::Tensor> defined_of(const std::vector<torch::Tensor>& gradients) {
  std::vector<torch::Tensor> defined;
  for (const torch::Tensor& gradient : gradients)
    if (gradient.defined()) defined.push_back(gradient);
  return defined;
}

}  // namespace

torch::Tensor gradient_norms(const std::vector<torch::Tensor>& gradients) {
  const torch::NoGradGuard guard;
  const std::vector<torch::Tensor> defined = defined_of(gradients);
  if (defined.empty()) return torch::zeros({0}, torch::kDouble);
  return torch::stack(at::_foreach_norm(defined)).to(torch::kDouble);
}

double joint_norm(std::span<const double> norms) {
  double sum = 0;
  for (const double norm : norms) sum += norm * norm;
  return std::sqrt(sum);
}

double gradient_norm(const std::vector<torch::Tensor>& gradients) {
  const torch::Tensor norms = gradient_norms(gradients).cpu();
  return joint_norm({norms.data_ptr<double>(), static_cast<std::size_t>(norms.numel())});
}

void clip_gradients(const std::vector<torch::Tensor>& gradients, double norm, double limit) {
  const torch::NoGradGuard guard;
  if (limit <= 0 || norm <= limit) return;
  const std::vector<torch::Tensor> defined = defined_of(gradients);
  if (!defined.empty()) at::_foreach_mul_(defined, limit / norm);
}

}  // namespace alibi
