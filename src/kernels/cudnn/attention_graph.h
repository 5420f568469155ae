// Attention as a graph of cuDNN's operations, through its header-only frontend: softmax(scale q.k +
// slope (j - i)) v over the keys up to each query, forward or backward.
//
// The frontend's own ALiBi option computes the slopes itself. The same operations with the slopes
// as one more input reach the same engines, and take any slopes.
//
// The backward sums gradients of q in no fixed order: cuDNN's deterministic one stores a number for
// every pair of positions (825 GB for 24 heads of 131,072 with cuDNN 9.19).
#pragma once

#include <cudnn_frontend.h>

#include <compare>
#include <cstdint>
#include <memory>

#include "kernels/device_attention.h"

namespace alibi {

using CudnnGraph = cudnn_frontend::graph::Graph;

struct RowStrides {
  std::int64_t sequence = 0, head = 0, row = 0;  // in numbers

  friend auto operator<=>(const RowStrides&, const RowStrides&) = default;
};

// All that a plan depends on; heads of `width` numbers, as many keys as queries.
struct AttentionShape {
  std::int64_t sequences = 0, heads = 0, key_value_heads = 0, length = 0, width = 0;
  float scale = 1;
  bool biased = false;
  bool backward = false;
  RowStrides q = {}, k = {}, v = {}, output = {};
  // backward only
  RowStrides output_gradient = {}, q_gradient = {}, k_gradient = {}, v_gradient = {};

  friend auto operator<=>(const AttentionShape&, const AttentionShape&) = default;
};

AttentionShape attention_shape(const DeviceAttention& a, bool backward);

// Names of the graph's inputs and outputs, for the pointers of a call.
enum class GraphTensor : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kSlopes,
  kOutput,
  kLse,
  kOutputGradient,
  kQGradient,
  kKGradient,
  kVGradient,
};

// What plans are built for: the device of a handle, or one that is described and need not be there.
struct PlanTarget {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<cudnn_frontend::DeviceProperties> described = nullptr;
  int capability = 0;  // with `described`: 90 for 9.0
  int processors = 0;  // with `described`: streaming multiprocessors
};

// Its operations; no plan yet.
std::shared_ptr<CudnnGraph> attention_graph(const AttentionShape& shape, const PlanTarget& target);

}  // namespace alibi
