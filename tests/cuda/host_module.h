// The table of device/cuda_module.h with kernels that run on the host, in its memory: what model/
// queues can be held against its reference without a device.
#pragma once

#include "cuda/run_attention.h"
#include "device/cuda_module.h"

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

}  // namespace alibi
