// The table of device/row_module.h with kernels that run on the host, in its memory.
#pragma once

#include "device/row_module.h"
#include "kernels/cuda/cross_entropy_example.h"
#include "kernels/cuda/dropout_example.h"
#include "kernels/cuda/layer_norm_example.h"

namespace alibi {

inline const RowModule& host_row_module() {
  static const RowModule module{.runs = [] { return true; },
                                .cross_entropy =
                                    [](const DeviceCrossEntropy& a, void*) {
                                      run_cross_entropy(a);
                                      return 0;
                                    },
                                .norm =
                                    [](const DeviceNorm& a, void*) {
                                      run_norm(a);
                                      return 0;
                                    },
                                .norm_gradient =
                                    [](const DeviceNormGradient& a, void*) {
                                      run_norm_gradient(a);
                                      return 0;
                                    },
                                .dropout =
                                    [](const DeviceDropout& a, void*) {
                                      run_dropout(a);
                                      return 0;
                                    },
                                .error_text = [](int) { return "no error of the host's"; }};
  return module;
}

}  // namespace alibi
