// What libalibi_cuda.so offers: one table, fetched by its name and checked by its version. Streams
// travel as void*, so that who calls sees no CUDA.
#pragma once

#include "kernels/device_attention.h"

namespace alibi {

inline constexpr int kCudaModuleVersion = 1;
inline constexpr const char* kCudaModuleFile = "libalibi_cuda.so";
inline constexpr const char* kCudaModuleSymbol = "alibi_cuda_module";

// Functions queue work on the stream and return 0 or a CUDA error's number.
struct CudaModule {
  int version = kCudaModuleVersion;
  // Query rows that share an entry of first_BHM, for heads of this width.
  int (*forward_rows)(int width) = nullptr;
  // reach_BGN: out; asked for by a threshold.
  int (*key_reach)(const DeviceAttention& a, float* reach_BGN, void* stream) = nullptr;
  int (*forward)(const DeviceAttention& a, void* stream) = nullptr;
  int (*backward)(const DeviceAttention& a, void* stream) = nullptr;  // fills delta_BHT, too
  const char* (*error_text)(int error) = nullptr;
};

using CudaModuleFunction = const CudaModule* (*)();

}  // namespace alibi
