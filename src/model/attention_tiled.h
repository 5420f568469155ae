// The tiled kernels (kernels/attention_tiled.h) on tensors: strides taken as they are, work spread
// over LibTorch's threads.
#pragma once

#include "kernels/tile_ops.h"
#include "model/attention.h"

namespace alibi {

// The two types one instruction set offers.
struct TileSet {
  const TileOps* bf16;
  const TileOps* fp32;
};

bool tiled_attention_supports(const TileSet& set, const AttentionProblem& problem,
                              torch::Device device);
// `visited_BHN`, if given: int32 (B, H, query blocks), filled with the key blocks each visited.
AttentionOutputs tiled_attention_forward(const TileSet& set, const AttentionInputs& inputs,
                                         const torch::Tensor& visited_BHN = {});
AttentionGradients tiled_attention_backward(const TileSet& set, const AttentionInputs& inputs,
                                            const AttentionOutputs& outputs,
                                            const torch::Tensor& gradient_BHTD);

}  // namespace alibi
