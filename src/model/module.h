// A model's parameters by name. LibTorch's own Module costs every file that sees a model more than
// a second of compilation.
#pragma once

#include <torch/ordered_dict.h>

#include <string>
#include <vector>

#include "config/config.h"
#include "device/tensor.h"

namespace alibi {

class Module {
 public:
  using Parameters = torch::OrderedDict<std::string, torch::Tensor>;

  // fp32 on the CPU, each wants gradients: gains of norms are 1, all else is 0.
  explicit Module(const std::vector<ParameterShape>& shapes);

  // In the order of the shapes: "block_0.qkv.weight". The tensors are the model's, not copies.
  Parameters named_parameters() const { return parameters_; }
  std::vector<torch::Tensor> parameters() const { return parameters_.values(); }

  // Each parameter stays the tensor it is; what it holds is moved.
  void to(torch::Device device);

 protected:
  ~Module() = default;

  torch::Tensor parameter(const std::string& name) const;  // undefined: there is none

 private:
  Parameters parameters_;
};

}  // namespace alibi
