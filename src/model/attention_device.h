// Attention by kernels for a CUDA device, ours (src/kernels/cuda) or cuDNN's (src/kernels/cudnn):
// strides, scratch memory, and where their work is queued.
#pragma once

#include "device/cuda_library.h"
#include "model/attention.h"

namespace alibi {

struct DeviceQueue {
  const CudaModule* module;
  void* stream;  // of the device that the tensors are on
};

// LibTorch's current stream; throws Error where `kernels` are not there.
DeviceQueue current_queue(const CudaKernels& kernels, torch::Device device);

// Which of our kernels a problem needs. Learned slopes are a table, whose gradient is theirs, and
// so is what stands beside a pattern.
BiasKind device_bias_kind(const AttentionProblem& problem);

// What our kernels do not support (AttentionKernel::lacks) beside bf16, heads of 8 to 256 numbers
// in steps of 8, biases by distance or of queries and keys, with their gradients, and patterns.
// cuDNN's: the same of whole sequences without documents, with linear biases that need no gradient
// or none.
const char* device_attention_lacks(const AttentionProblem& problem);
const char* cudnn_attention_lacks(const AttentionProblem& problem);

// Throw Error when work cannot be queued. Which key blocks the forward left out is in its
// first_BHM.
AttentionOutputs device_attention_forward(const DeviceQueue& queue, const AttentionInputs& inputs);
AttentionGradients device_attention_backward(const DeviceQueue& queue,
                                             const AttentionInputs& inputs,
                                             const AttentionOutputs& outputs,
                                             const torch::Tensor& gradient_BHTD);

}  // namespace alibi
