// Attention where keys are hashed (model/hashed_keys.h), on the tiled kernels, in time that grows
// with the keys that are seen: in each round positions are sorted by (group, place), and what a
// query sees then begins with the group before its own, as with documents.
#pragma once

#include "model/attention.h"

namespace alibi {

const char* hashed_attention_lacks(const AttentionProblem& problem, torch::Device device);
AttentionOutputs hashed_attention_forward(const AttentionInputs& inputs);
AttentionGradients hashed_attention_backward(const AttentionInputs& inputs,
                                             const AttentionOutputs& outputs,
                                             const torch::Tensor& gradient_BHTD);

}  // namespace alibi
