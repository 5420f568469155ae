// What libalibi_cuda.so offers over rows of memory, beside attention (device/cuda_module.h): a
// table of its own, fetched by its name and checked by its version.
#pragma once

#include <cstddef>

#include "kernels/device_row_ops.h"

namespace alibi {

inline constexpr int kRowModuleVersion = 4;
inline constexpr const char* kRowModuleSymbol = "alibi_row_module";

// Functions queue work on the stream, a void* so that who calls sees no CUDA, and return 0 or a
// number that error_text explains.
struct RowModule {
  int version = kRowModuleVersion;
  std::size_t call_bytes = sizeof(DeviceCrossEntropy) + sizeof(DeviceNorm) +
                           sizeof(DeviceNormGradient) +
                           sizeof(DeviceDropout);  // what it was compiled with
  bool (*runs)() = nullptr;                        // whether the current device has code for them
  int (*cross_entropy)(const DeviceCrossEntropy& a, void* stream) = nullptr;
  int (*norm)(const DeviceNorm& a, void* stream) = nullptr;
  int (*norm_gradient)(const DeviceNormGradient& a, void* stream) = nullptr;
  int (*dropout)(const DeviceDropout& a, void* stream) = nullptr;
  const char* (*error_text)(int error) = nullptr;
  // Whether an error is the call's own, not one of the device's; null: all are.
  bool (*is_own)(int error) = nullptr;
};

// Whose kernels are queued where.
struct RowQueue {
  const RowModule* module;
  void* stream;  // of the rows' device
};

}  // namespace alibi
