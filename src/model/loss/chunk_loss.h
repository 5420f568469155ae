// Loss of a chunk of logits and its gradient: the formula, and the kernels that do the same in one
// pass.
//
// Letters: R rows, V vocabulary.
#pragma once

#include <cstdint>
#include <string>

#include "device/row_module.h"
#include "device/tensor.h"

namespace alibi {

struct ChunkLoss {
  torch::Tensor sum;          // of the rows' cross-entropies, 0-dim
  torch::Tensor square_sum;   // of the rows' log(sum exp(logits))^2, 0-dim; undefined without z
  torch::Tensor gradient_RV;  // of the logits, times `scale`, in their type; undefined: not asked
};

// d/dlogits of  log_sum - logits[target] + z log_sum^2  is  p (1 + 2 z log_sum) - [target].
struct ChunkScale {
  double scale = 1;  // on the whole gradient
  double z = 0;
  bool left_out = false;  // rows with a negative target: no loss, no gradient
};

// By a kernel of the device, the processor's, or the formula; the logits may be overwritten.
ChunkLoss chunk_loss(const torch::Tensor& logits_RV, const torch::Tensor& target_R1,
                     const ChunkScale& scale, bool needs_gradient);

// Of `rows` rows at a time (runtime.loss_chunk_rows) that the formula takes: as many as need the
// same memory where a kernel of the device takes them, in whose place their gradient stands.
std::int64_t rows_at_once(const torch::Tensor& hidden_NC, std::int64_t rows);

// The formula in LibTorch's operators, in fp32 or fp64.
ChunkLoss plain_chunk(const torch::Tensor& logits_RV, const torch::Tensor& target_R1,
                      const ChunkScale& scale, bool needs_gradient);

// The same by a kernel of the logits' device: bf16, which are overwritten by their gradient. Throws
// Error when it cannot be queued.
ChunkLoss device_chunk(const RowQueue& queue, const torch::Tensor& logits_RV,
                       const torch::Tensor& target_R1, const ChunkScale& scale,
                       bool needs_gradient);

// In what such a kernel differs from the formula on a small problem of this device, for which this
// waits; "": in nothing. chunk_loss() asks at the first use (device/first_use.h).
std::string fault_of_device_chunk(const RowQueue& queue, torch::Device device);

}  // namespace alibi
