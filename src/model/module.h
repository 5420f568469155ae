// Parameters by name, in a tree: the part of torch::nn::Module that a model needs. Its own header
// costs every file that sees a model more than a second of compilation.
#pragma once

#include <torch/ordered_dict.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/tensor.h"

namespace alibi {

class Module {
 public:
  using Parameters = torch::OrderedDict<std::string, torch::Tensor>;

  // Its own in the order of registration, then those of its modules: "block_0.qkv.weight". The
  // tensors are the model's, not copies.
  Parameters named_parameters() const;
  std::vector<torch::Tensor> parameters() const;

  // Each parameter stays the tensor it is; what it holds is moved or converted.
  void to(torch::Device device);
  void to(torch::ScalarType type);

 protected:
  ~Module() = default;

  // Returns the parameter, which wants gradients from here on.
  torch::Tensor register_parameter(const std::string& name, torch::Tensor parameter);

  template <class Impl, class... Arguments>
  std::shared_ptr<Impl> register_module(const std::string& name, Arguments&&... arguments) {
    auto module = std::make_shared<Impl>(std::forward<Arguments>(arguments)...);
    modules_.emplace_back(name, module);
    return module;
  }

 private:
  std::vector<std::pair<std::string, torch::Tensor>> parameters_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> modules_;
};

}  // namespace alibi
