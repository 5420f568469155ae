// The slow twin of every attention kernel: plain formulas on LibTorch operators, in chunks of rows.
#pragma once

#include "model/attention.h"

namespace alibi {

AttentionOutputs reference_attention_forward(const AttentionInputs& inputs);
AttentionGradients reference_attention_backward(const AttentionInputs& inputs,
                                                const AttentionOutputs& outputs,
                                                const torch::Tensor& gradient_BHTD);

}  // namespace alibi
