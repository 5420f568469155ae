// The device's attention kernels as more of the list, played on the host.
#pragma once

#include <array>
#include <vector>

#include "device/libtorch.h"
#include "kernels/cuda/host_module.h"
#include "model/attention_device.h"

namespace alibi {

template <const CudaModule& (*kModule)(), const char* (*kLacks)(const AttentionProblem&)>
AttentionKernel kernel_on_host(const char* name) {
  return {name, [](const AttentionProblem& problem, torch::Device) { return kLacks(problem); },
          [](const AttentionInputs& inputs) {
            return device_attention_forward({&kModule(), nullptr}, inputs);
          },
          [](const AttentionInputs& inputs, const AttentionOutputs& outputs,
             const torch::Tensor& gradient_BHTD) {
            return device_attention_backward({&kModule(), nullptr}, inputs, outputs, gradient_BHTD);
          }};
}

inline const std::array<AttentionKernel, 2>& device_kernels_on_host() {
  static const std::array kernels = {
      kernel_on_host<host_module, device_attention_lacks>("cuda, on the host"),
      kernel_on_host<HostLibrary::module, cudnn_attention_lacks>("cudnn, on the host")};
  return kernels;
}

// Every listed kernel and, on the CPU, these.
inline std::vector<AttentionKernel> tested_kernels(torch::Device device = torch::kCPU) {
  const auto listed = attention_kernels();
  std::vector<AttentionKernel> kernels(listed.begin(), listed.end());
  const auto& played = device_kernels_on_host();
  if (device.is_cpu()) kernels.insert(kernels.begin(), played.begin(), played.end());
  return kernels;
}

}  // namespace alibi
