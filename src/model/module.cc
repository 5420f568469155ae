#include "model/module.h"

#include "device/libtorch.h"

namespace alibi {

Module::Module(const std::vector<ParameterShape>& shapes) {
  for (const auto& [name, sizes] : shapes) {
    const bool gain = sizes.size() == 1 && name.ends_with(".weight");
    torch::Tensor value = gain ? torch::ones(sizes) : torch::zeros(sizes);
    parameters_.insert(name, value.set_requires_grad(true));
  }
}

torch::Tensor Module::parameter(const std::string& name) const {
  const torch::Tensor* const found = parameters_.find(name);
  return found == nullptr ? torch::Tensor() : *found;
}

void Module::to(torch::Device device) {
  for (const torch::Tensor& parameter : parameters()) parameter.set_data(parameter.to(device));
}

}  // namespace alibi
