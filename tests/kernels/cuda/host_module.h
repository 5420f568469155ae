// Tables of device/cuda_module.h with kernels that run on the host, in its memory: what model/
// queues can be held against its reference without a device.
#pragma once

#include <cstring>
#include <vector>

#include "device/cuda_module.h"
#include "kernels/cuda/run_attention.h"

namespace alibi {

inline const CudaModule& host_module() {
  static const CudaModule module{.forward_rows = forward_rows<HostBlock>,
                                 .key_reach =
                                     [](const DeviceAttention& a, float* reach_BGN, void*) {
                                       run_key_reach(a, reach_BGN);
                                       return 0;
                                     },
                                 .forward =
                                     [](const DeviceAttention& a, void*) {
                                       run_forward(a);
                                       return 0;
                                     },
                                 .backward =
                                     [](const DeviceAttention& a, void*) {
                                       run_backward(a);
                                       return 0;
                                     },
                                 .error_text = [](int) { return "no error of the host's"; }};
  return module;
}

// The same kernels as a library like cuDNN offers them: natural units, nothing left out, and memory
// of the caller's, which it fills.
class HostLibrary {
 public:
  static const CudaModule& module() {
    static const CudaModule module{
        .score_unit = 1,
        .workspace = workspace,
        .forward = [](const DeviceAttention& a, void*) { return run(a, /*backward=*/false); },
        .backward = [](const DeviceAttention& a, void*) { return run(a, /*backward=*/true); },
        .error_text = [](int) { return "not what it asked for"; }};
    return module;
  }

 private:
  static std::int64_t workspace(const DeviceAttention& a, bool backward) {
    return (backward ? 3 : 1) * a.row(a.sequences, 0, 0);
  }

  static int run(const DeviceAttention& a, bool backward) {
    if (a.workspace == nullptr || a.threshold >= 0 || a.first_BHM != nullptr) return 1;
    std::memset(a.workspace, 0xff, static_cast<std::size_t>(workspace(a, backward)));
    DeviceAttention in_base_two = a;
    in_base_two.scale *= static_cast<float>(kLog2E);
    std::vector<float> slopes;
    for (int h = 0; a.slopes_H != nullptr && h < a.heads; ++h)
      slopes.push_back(a.slopes_H[h] * static_cast<float>(kLog2E));
    if (!slopes.empty()) in_base_two.slopes_H = slopes.data();
    backward ? run_backward(in_base_two) : run_forward(in_base_two);
    return 0;
  }
};

}  // namespace alibi
