#include "optimizer/adamw.h"

#include "base/error.h"
#include "base/strings.h"

namespace alibi {

AdamW::AdamW(std::vector<std::pair<std::string, torch::Tensor>> parameters,
             const OptimizerConfig& config)
    : config_(config),
      matrices_{config.weight_decay, {}, {}, {}, {}},
      others_{0.0, {}, {}, {}, {}} {
  for (auto& [name, parameter] : parameters) {
    Group& group = parameter.dim() >= 2 ? matrices_ : others_;
    group.names.push_back(name);
    group.parameters.push_back(parameter);
    group.moment_1.push_back(torch::zeros_like(parameter, torch::MemoryFormat::Contiguous));
    group.moment_2.push_back(torch::zeros_like(parameter, torch::MemoryFormat::Contiguous));
  }
}

void AdamW::update(std::int64_t step, double learning_rate) {
  const torch::NoGradGuard guard;
  for (Group* group : {&matrices_, &others_}) {
    if (group->parameters.empty()) continue;
    std::vector<torch::Tensor> gradients, steps;
    for (const torch::Tensor& parameter : group->parameters) {
      ensure(parameter.grad().defined(), "every parameter has a gradient");
      gradients.push_back(parameter.grad());
      steps.push_back(torch::full({}, static_cast<double>(step), parameter.options()));
    }
    // One decay per call is all LibTorch's fused update takes: hence two groups.
    at::_fused_adamw_(group->parameters, gradients, group->moment_1, group->moment_2, {}, steps,
                      learning_rate, config_.beta1, config_.beta2, group->weight_decay,
                      config_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
    // LibTorch's fused update does not count as a change; what was packed from the weights must see
    // that it is old (products/linear_products.h).
    for (const torch::Tensor& parameter : group->parameters)
      parameter.unsafeGetTensorImpl()->bump_version();
  }
}

void AdamW::zero_gradients() {
  for (Group* group : {&matrices_, &others_}) {
    for (torch::Tensor& parameter : group->parameters) parameter.mutable_grad() = torch::Tensor();
  }
}

void AdamW::reset() {
  const torch::NoGradGuard guard;
  for (Group* group : {&matrices_, &others_}) {
    for (auto* moments : {&group->moment_1, &group->moment_2}) {
      for (torch::Tensor& moment : *moments) moment.zero_();
    }
  }
}

std::map<std::string, torch::Tensor> AdamW::state() const {
  std::map<std::string, torch::Tensor> state;
  for (const Group* group : {&matrices_, &others_}) {
    for (std::size_t i = 0; i < group->names.size(); ++i) {
      state["moment_1." + group->names[i]] = group->moment_1[i];
      state["moment_2." + group->names[i]] = group->moment_2[i];
    }
  }
  return state;
}

void AdamW::load_state(const std::map<std::string, torch::Tensor>& state) {
  const torch::NoGradGuard guard;
  for (auto& [name, mine] : this->state()) {
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

}  // namespace alibi
