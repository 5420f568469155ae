// The device's attention kernels as more of the list, played on the host.
#pragma once

#include <array>
#include <vector>

#include "bench/textbook_attention.h"
#include "cuda/host_module.h"
#include "device/libtorch.h"
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

// The textbooks' and the program's.
inline std::vector<AttentionKernel> all_kernels() {
  const auto textbook = textbook_kernels(), listed = attention_kernels();
  std::vector<AttentionKernel> kernels(textbook.begin(), textbook.end());
  kernels.insert(kernels.end(), listed.begin(), listed.end());
  return kernels;
}

// All kernels and, on the CPU, these.
inline std::vector<AttentionKernel> tested_kernels(torch::Device device = torch::kCPU) {
  std::vector<AttentionKernel> kernels = all_kernels();
  const auto& played = device_kernels_on_host();
  if (device.is_cpu()) kernels.insert(kernels.begin(), played.begin(), played.end());
  return kernels;
}

}  // namespace alibi
