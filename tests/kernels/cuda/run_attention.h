// The attention kernels' bodies over their whole grids, as a device would launch them.
#pragma once

#include <memory>

#include "kernels/cuda/attention_norms.h"
#include "kernels/cuda/attention_shapes.h"
#include "kernels/cuda/host_block.h"

namespace alibi {

inline constexpr int kEveryKernel[] = {64, 96, 128, 192, 256};  // widths, each another kernel

// One body for each warp, kept off the stack: on a device its members are registers.
template <class Body>
void run_body(const DeviceAttention& a, const KernelGrid& grid, int warps) {
  run_grid(grid, warps, Body::kSharedBytes,
           [&](HostBlock& block) { std::make_unique<Body>(a, block)->run(); });
}

inline void run_key_reach(const DeviceAttention& a, float* reach_BGN) {
  using Norms = KeyNorms<HostBlock>;
  using Reach = KeyReach<HostBlock>;
  run_grid(key_grid(a, 1), 1, Norms::kSharedBytes,
           [&](HostBlock& block) { Norms::run(a, reach_BGN, block); });
  run_grid(reach_grid(a), 1, Reach::kSharedBytes,
           [&](HostBlock& block) { Reach::run(a, reach_BGN, block); });
}

inline void run_forward(const DeviceAttention& a) {
  with_shapes<HostBlock>(a.width, a.bias_kind(), [&](auto shapes) {
    using Body = typename decltype(shapes)::Forward;
    run_body<Body>(a, query_grid(a, Body::kRows), decltype(shapes)::kForwardWarps);
  });
}

inline void run_backward(const DeviceAttention& a) {
  using Delta = AttentionDelta<HostBlock>;
  run_grid(query_grid(a, Delta::kRows), 1, Delta::kSharedBytes,
           [&](HostBlock& block) { Delta::run(a, block); });
  with_shapes<HostBlock>(a.width, a.bias_kind(), [&](auto shapes) {
    using Shapes = decltype(shapes);
    using Queries = typename Shapes::QueryGradient;
    using Keys = typename Shapes::KeyGradient;
    run_body<Queries>(a, query_grid(a, Queries::kRows), Shapes::kQueryWarps);
    run_body<Keys>(a, key_grid(a, Shapes::kParts), Keys::kWarps);
    if constexpr (is_table(Shapes::kBias)) {
      using Distances = typename Shapes::DistanceGradient;
      if (a.distance_gradient_BHXU != nullptr)
        run_body<Distances>(a, distance_grid(a), Distances::kWarps);
    }
  });
}

}  // namespace alibi
