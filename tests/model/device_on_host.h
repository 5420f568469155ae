// The device's attention kernel as one more of the list, played on the host.
#pragma once

#include <vector>

#include "cuda/host_module.h"
#include "model/attention_device.h"

namespace alibi {

inline const AttentionKernel& device_kernel_on_host() {
  static const AttentionKernel kernel{
      "cuda, on the host",
      [](const AttentionProblem& problem, torch::Device) {
        return device_attention_takes(problem);
      },
      [](const AttentionInputs& inputs) {
        return device_attention_forward({&host_module(), nullptr}, inputs);
      },
      [](const AttentionInputs& inputs, const AttentionOutputs& outputs,
         const torch::Tensor& gradient_BHTD) {
        return device_attention_backward({&host_module(), nullptr}, inputs, outputs, gradient_BHTD);
      }};
  return kernel;
}

// Every listed kernel and, on the CPU, it.
inline std::vector<AttentionKernel> tested_kernels(torch::Device device = torch::kCPU) {
  const auto listed = attention_kernels();
  std::vector<AttentionKernel> kernels(listed.begin(), listed.end());
  if (device.is_cpu()) kernels.insert(kernels.begin(), device_kernel_on_host());
  return kernels;
}

}  // namespace alibi
