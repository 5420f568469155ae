#include "model/module.h"

#include "base/strings.h"

namespace alibi {

Module::Parameters Module::named_parameters() const {
  Parameters all;
  for (const auto& [name, parameter] : parameters_) all.insert(name, parameter);
  for (const auto& [name, module] : modules_) {
    for (const auto& below : module->named_parameters())
      all.insert(cat(name, ".", below.key()), below.value());
  }
  return all;
}

std::vector<torch::Tensor> Module::parameters() const { return named_parameters().values(); }

void Module::to(torch::Device device) {
  for (const torch::Tensor& parameter : parameters()) parameter.set_data(parameter.to(device));
}

void Module::to(torch::ScalarType type) {
  for (const torch::Tensor& parameter : parameters()) parameter.set_data(parameter.to(type));
}

torch::Tensor Module::register_parameter(const std::string& name, torch::Tensor parameter) {
  parameter.set_requires_grad(true);
  parameters_.emplace_back(name, parameter);
  return parameter;
}

}  // namespace alibi
