// How the kernels over rows are launched: the table of device/row_module.h.
#include <cuda_runtime.h>

#include "device/row_module.h"
#include "kernels/cuda/cross_entropy.h"
#include "kernels/cuda/device_block.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/launch_errors.h"
#include "kernels/cuda/layer_norm.h"

namespace alibi {
namespace {

using Row = CrossEntropyRow<DeviceBlock>;

__global__ void __launch_bounds__(32 * Row::kWarps, 2)
    run_cross_entropy(const __grid_constant__ DeviceCrossEntropy a) {
  __shared__ __align__(16) std::byte shared[Row::kSharedBytes];
  DeviceBlock block(shared);
  Row(a, block).run();
}

int cross_entropy(const DeviceCrossEntropy& a, void* stream) {
  run_cross_entropy<<<static_cast<unsigned>(a.rows), 32 * Row::kWarps, 0,
                      static_cast<cudaStream_t>(stream)>>>(a);
  return cudaGetLastError();
}

template <int kRowWarps, int kChunks>
__global__ void __launch_bounds__(32 * kDeviceNormWarps, kChunks < 4      ? 4
                                                         : kRowWarps == 1 ? 3
                                                                          : 2)
    run_norm(const __grid_constant__ DeviceNorm a) {
  using Forward = NormForward<DeviceBlock, kRowWarps, kChunks>;
  __shared__ __align__(16) std::byte shared[Forward::kSharedBytes + 16];
  DeviceBlock block(shared);
  Forward(a, block).run();
}

// Sums of four chunks leave room for one block on a multiprocessor, those of fewer for two.
template <int kRowWarps, int kChunks>
__global__ void __launch_bounds__(32 * kDeviceNormWarps, kChunks == 4   ? 1
                                                         : kChunks == 1 ? 4
                                                                        : 2)
    run_norm_gradient(const __grid_constant__ DeviceNormGradient a) {
  using Backward = NormBackward<DeviceBlock, kRowWarps, kChunks>;
  __shared__ __align__(16) std::byte shared[Backward::kSharedBytes];
  DeviceBlock block(shared);
  Backward(a, block).run();
}

int norm(const DeviceNorm& a, void* stream) {
  if (!device_norm_knows(a.rows, a.width)) return cudaErrorInvalidValue;
  const int at_once = device_norm_rows_of_block(a.width);
  const auto blocks = static_cast<unsigned>((a.rows - 1) / at_once + 1);
  with_norm_shape(a.width, [&]<int kRowWarps, int kChunks>() {
    run_norm<kRowWarps, kChunks>
        <<<blocks, 32 * kDeviceNormWarps, 0, static_cast<cudaStream_t>(stream)>>>(a);
  });
  return cudaGetLastError();
}

int norm_gradient(const DeviceNormGradient& a, void* stream) {
  if (!device_norm_knows(a.rows, a.width) || a.parts > device_norm_parts(a.rows, a.width))
    return cudaErrorInvalidValue;
  const auto blocks = static_cast<unsigned>(a.parts);
  with_norm_shape(a.width, [&]<int kRowWarps, int kChunks>() {
    run_norm_gradient<kRowWarps, kChunks>
        <<<blocks, 32 * kDeviceNormWarps, 0, static_cast<cudaStream_t>(stream)>>>(a);
  });
  return cudaGetLastError();
}

__global__ void __launch_bounds__(32 * DropoutRow<DeviceBlock>::kWarps)
    run_dropout(const __grid_constant__ DeviceDropout a) {
  __shared__ __align__(16) std::byte shared[16];  // of no use to it
  DeviceBlock block(shared);
  DropoutRow<DeviceBlock>(a, block).run();
}

int dropout(const DeviceDropout& a, void* stream) {
  run_dropout<<<static_cast<unsigned>(a.rows), 32 * DropoutRow<DeviceBlock>::kWarps, 0,
                static_cast<cudaStream_t>(stream)>>>(a);
  return cudaGetLastError();
}

bool runs() {
  cudaFuncAttributes ignored;
  const bool found = cudaFuncGetAttributes(&ignored, run_cross_entropy) == cudaSuccess;
  cudaGetLastError();  // nobody else is to find it
  return found;
}

constexpr RowModule kModule{.runs = runs,
                            .cross_entropy = cross_entropy,
                            .norm = norm,
                            .norm_gradient = norm_gradient,
                            .dropout = dropout,
                            .error_text = launch_error_text,
                            .is_own = launch_is_own};

}  // namespace
}  // namespace alibi

extern "C" const alibi::RowModule* alibi_row_module() { return &alibi::kModule; }
