// How the kernels over rows are launched: the table of device/row_module.h.
#include <cuda_runtime.h>

#include "device/row_module.h"
#include "kernels/cuda/cross_entropy.h"
#include "kernels/cuda/device_block.h"
#include "kernels/cuda/launch_errors.h"

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

bool runs() {
  cudaFuncAttributes ignored;
  const bool found = cudaFuncGetAttributes(&ignored, run_cross_entropy) == cudaSuccess;
  cudaGetLastError();  // nobody else is to find it
  return found;
}

constexpr RowModule kModule{.runs = runs,
                            .cross_entropy = cross_entropy,
                            .error_text = launch_error_text,
                            .is_own = launch_is_own};

}  // namespace
}  // namespace alibi

extern "C" const alibi::RowModule* alibi_row_module() { return &alibi::kModule; }
