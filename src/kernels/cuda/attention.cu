// How the attention kernels are launched: the table of device/cuda_module.h.
#include <cuda_runtime.h>

#include <atomic>

#include "device/cuda_module.h"
#include "kernels/cuda/attention_norms.h"
#include "kernels/cuda/attention_shapes.h"
#include "kernels/cuda/device_block.h"
#include "kernels/cuda/launch_errors.h"

namespace alibi {
namespace {

template <class Body, int kWarps>
__global__ void __launch_bounds__(32 * kWarps) run_body(const __grid_constant__ DeviceAttention a) {
  extern __shared__ __align__(128) std::byte shared[];
  DeviceBlock block(shared);
  Body(a, block).run();
}

__global__ void __launch_bounds__(32) run_delta(const __grid_constant__ DeviceAttention a) {
  DeviceBlock block(nullptr);
  AttentionDelta<DeviceBlock>::run(a, block);
}

template <class Body>
__global__ void __launch_bounds__(32)
    run_norms(const __grid_constant__ DeviceAttention a, float* norms_BGN) {
  __shared__ __align__(16) std::byte shared[Body::kSharedBytes];
  DeviceBlock block(shared);
  Body::run(a, norms_BGN, block);
}

dim3 blocks(const KernelGrid& grid) {
  return {static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
          static_cast<unsigned>(grid.z)};
}

// More shared memory than 48 KiB must be asked for once a kernel. Only success is remembered: where
// memory lacked, a later call may have it.
template <class Body, int kWarps>
cudaError_t launch(const DeviceAttention& a, const KernelGrid& grid, cudaStream_t stream) {
  static std::atomic<bool> allowed = false;
  if (!allowed) {
    const cudaError_t code = cudaFuncSetAttribute(
        run_body<Body, kWarps>, cudaFuncAttributeMaxDynamicSharedMemorySize, Body::kSharedBytes);
    if (code != cudaSuccess) {
      cudaGetLastError();  // nobody else is to find it
      return code;
    }
    allowed = true;
  }
  run_body<Body, kWarps><<<blocks(grid), 32 * kWarps, Body::kSharedBytes, stream>>>(a);
  return cudaGetLastError();
}

int key_reach(const DeviceAttention& a, float* reach_BGN, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  run_norms<KeyNorms<DeviceBlock>><<<blocks(key_grid(a, 1)), 32, 0, queue>>>(a, reach_BGN);
  run_norms<KeyReach<DeviceBlock>><<<blocks(reach_grid(a)), 32, 0, queue>>>(a, reach_BGN);
  return cudaGetLastError();
}

int forward(const DeviceAttention& a, void* stream) {
  return with_shapes<DeviceBlock>(a.width, a.bias_kind(), [&](auto shapes) -> int {
    using Body = typename decltype(shapes)::Forward;
    return launch<Body, decltype(shapes)::kForwardWarps>(a, query_grid(a, Body::kRows),
                                                         static_cast<cudaStream_t>(stream));
  });
}

template <class Shapes>
int gradients(const DeviceAttention& a, cudaStream_t queue) {
  using Queries = typename Shapes::QueryGradient;
  using Keys = typename Shapes::KeyGradient;
  const cudaError_t failed =
      launch<Queries, Shapes::kQueryWarps>(a, query_grid(a, Queries::kRows), queue);
  if (failed != cudaSuccess) return failed;
  return launch<Keys, Keys::kWarps>(a, key_grid(a, Shapes::kParts), queue);
}

int backward(const DeviceAttention& a, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  const KernelGrid grid = query_grid(a, AttentionDelta<DeviceBlock>::kRows);
  run_delta<<<blocks(grid), 32, 0, queue>>>(a);
  return with_shapes<DeviceBlock>(a.width, a.bias_kind(), [&](auto shapes) -> int {
    using Shapes = decltype(shapes);
    const int failed = gradients<Shapes>(a, queue);
    if constexpr (is_table(Shapes::kBias)) {
      using Distances = typename Shapes::DistanceGradient;
      if (failed == cudaSuccess && a.distance_gradient_BHXU != nullptr)
        return launch<Distances, Distances::kWarps>(a, distance_grid(a), queue);
    }
    return failed;
  });
}

// Small devices have less shared memory a block than wide heads take.
bool takes(int width, BiasKind kind) {
  int device = 0, most = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return false;
  return with_shapes<DeviceBlock>(width, kind, [&](auto shapes) -> bool {
    using Shapes = decltype(shapes);
    return Shapes::Forward::kSharedBytes <= most && Shapes::QueryGradient::kSharedBytes <= most &&
           Shapes::KeyGradient::kSharedBytes <= most &&
           (!is_table(kind) || Shapes::DistanceGradient::kSharedBytes <= most);
  });
}

constexpr CudaModule kModule{.takes = takes,
                             .forward_rows = forward_rows<DeviceBlock>,
                             .key_reach = key_reach,
                             .forward = forward,
                             .backward = backward,
                             .error_text = launch_error_text,
                             .is_own = launch_is_own};

}  // namespace
}  // namespace alibi

extern "C" const alibi::CudaModule* alibi_cuda_module() { return &alibi::kModule; }
