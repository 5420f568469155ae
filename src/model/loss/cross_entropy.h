// Cross-entropy from hidden states, in chunks of rows: logits of all rows never exist together.
//
// Letters: N rows, C width, V vocabulary.
#pragma once

#include "device/tensor.h"

namespace alibi {

// Mean of -log softmax(hidden weight^T)[target] over N rows, in nats, fp32 (fp64 for fp64).
// Differentiable in hidden and weight: gradients are made in the forward pass, chunk by chunk, and
// scaled in backward. Products run in hidden's type, sums in fp32. hidden_NC and weight_VC may have
// different types.
torch::Tensor cross_entropy(const torch::Tensor& hidden_NC, const torch::Tensor& weight_VC,
                            const torch::Tensor& targets_N, std::int64_t chunk_rows);

struct LossOptions {
  std::int64_t chunk_rows = 1024;
  double z_loss = 0;      // z
  double divisor = 0;     // the sums over rows become means by it; 0: the number of rows
  bool left_out = false;  // rows whose target is negative count nothing; else there are none
  bool packs = true;      // the weight, where it can be; LibTorch's products otherwise
  // Backward starts at the objective, whose own gradient is then 1: gradients are given as they
  // are, without a pass over V x C numbers (a device can't be asked for a factor, or would wait).
  bool starts_backward = false;
};

struct TrainingLoss {
  torch::Tensor objective;  // cross-entropy + z * mean of log(sum exp(logits))^2; differentiable
  torch::Tensor cross_entropy;  // its first part, without gradient
};

// Cross-entropy with the z-loss of PaLM (Chowdhery et al. 2022, section 5), which keeps the logits'
// normaliser near 1.
TrainingLoss training_loss(const torch::Tensor& hidden_NC, const torch::Tensor& weight_VC,
                           const torch::Tensor& targets_N, const LossOptions& options);

// The losses of cross_entropy one by one, fp32 logits whatever the activations: what evaluation
// sums.
torch::Tensor token_losses(const torch::Tensor& hidden_NC, const torch::Tensor& weight_VC,
                           const torch::Tensor& targets_N, std::int64_t chunk_rows);

}  // namespace alibi
