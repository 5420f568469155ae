// What libalibi_cuda.so (our kernels) and libalibi_cudnn.so (cuDNN's) offer: one table each,
// fetched by its name and checked by its version. Streams travel as void*, so that who calls sees
// no CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_skip.h"
#include "kernels/device_attention.h"

namespace alibi {

inline constexpr int kCudaModuleVersion = 6;
inline constexpr const char* kCudaModuleFile = "libalibi_cuda.so";
inline constexpr const char* kCudnnModuleFile = "libalibi_cudnn.so";
inline constexpr const char* kCudaModuleSymbol = "alibi_cuda_module";

// Functions queue work on the stream and return 0 or a number that error_text explains.
struct CudaModule {
  int version = kCudaModuleVersion;
  std::size_t call_bytes = sizeof(DeviceAttention);  // what it was compiled with
  // The unit of DeviceAttention's scale and slopes: kLog2E where scores are in base 2.
  double score_unit = kLog2E;
  // Whether the current device can run heads of this width with such biases; null: it can.
  bool (*takes)(int width, BiasKind kind) = nullptr;
  // Query rows that share an entry of first_BHM; null: nothing is left out.
  int (*forward_rows)(int width, BiasKind kind) = nullptr;
  // reach_BGN: out; asked for by a threshold.
  int (*key_reach)(const DeviceAttention& a, float* reach_BGN, void* stream) = nullptr;
  // Bytes that `workspace` must hold, negative where the call would fail; null: none. Asked for
  // with all else set.
  std::int64_t (*workspace)(const DeviceAttention& a, bool backward) = nullptr;
  int (*forward)(const DeviceAttention& a, void* stream) = nullptr;
  int (*backward)(const DeviceAttention& a, void* stream) = nullptr;  // fills delta_BHT, too
  const char* (*error_text)(int error) = nullptr;
  // Whether an error is the call's own, not one of the device's; null: all are.
  bool (*is_own)(int error) = nullptr;
};

using CudaModuleFunction = const CudaModule* (*)();

}  // namespace alibi
