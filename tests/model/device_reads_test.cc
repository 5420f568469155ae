// That around a device's kernels, whose bodies are played on the host, no operator reads a number
// out of a tensor, for which the host would have to wait. Of a whole step, without those kernels:
// tests/train/device_waits_test.cc.
#include <gtest/gtest.h>

#include "kernels/cuda/host_row_module.h"
#include "model/attention_check.h"
#include "model/device_on_host.h"
#include "model/dropout_mask.h"
#include "model/layer_norm_device.h"
#include "model/loss/chunk_loss.h"
#include "support/called_operators.h"

namespace alibi {
namespace {

int reads = 0;  // of the calls of counted(), while a problem is checked, which itself reads

template <int kKernel>
AttentionKernel counted() {
  AttentionKernel kernel = device_kernels_on_host()[kKernel];
  kernel.forward = [](const AttentionInputs& inputs) {
    const CalledOperators called;
    const AttentionOutputs outputs = device_kernels_on_host()[kKernel].forward(inputs);
    reads += called.number_reads();
    return outputs;
  };
  kernel.backward = [](const AttentionInputs& inputs, const AttentionOutputs& outputs,
                       const torch::Tensor& gradient_BHTD) {
    const CalledOperators called;
    const AttentionGradients gradients =
        device_kernels_on_host()[kKernel].backward(inputs, outputs, gradient_BHTD);
    reads += called.number_reads();
    return gradients;
  };
  return kernel;
}

// Seen failing with a sum read in the forward pass.
TEST(DeviceReads, AttentionReadsNoNumberBack) {
  constexpr BiasForms kForms[] = {{}, {.slopes = true}, {.table = true}, {.terms = true}};
  int checked = 0;
  for (const AttentionKernel& kernel : {counted<0>(), counted<1>()}) {
    for (const BiasForms& bias : kForms) {
      for (const bool learned : {false, true}) {
        for (const bool pattern : {false, true}) {
          const AttentionProblem problem{.sequences = 8,
                                         .heads = 12,
                                         .key_value_heads = 12,
                                         .queries = 1024,
                                         .keys = 1024,
                                         .head_width = 64,
                                         .scalar = ScalarKind::kBf16,
                                         .bias = bias,
                                         .bias_gradient = learned,
                                         .pattern = pattern};
          if (!kernel.supports(problem, torch::kCPU)) continue;
          reads = 0;
          EXPECT_EQ(fault_of_attention(kernel, problem, torch::kCPU), "");
          EXPECT_EQ(reads, 0) << kernel.name << bias.slopes << bias.table << bias.terms << learned
                              << pattern;
          ++checked;
        }
      }
    }
  }
  EXPECT_GE(checked, 14);
}

// Seen failing with a count that is always 0.
TEST(DeviceReads, RowsReadNoNumberBack) {
  const RowQueue queue{&host_row_module(), nullptr};
  const torch::Tensor logits_RV = torch::randn({4, 100}).to(torch::kBFloat16);
  const torch::Tensor target_R1 = torch::tensor({0L, 99L, -1L, 7L}).view({4, 1});
  const torch::Tensor x = torch::randn({6, 64}).to(torch::kBFloat16);
  const LayerNorm norm{
      .weight_C = torch::ones({64}), .bias_C = torch::zeros({64}), .epsilon = 1e-5};
  const NormStatistics statistics = room_for_statistics(x);
  const CalledOperators called;
  device_chunk(queue, logits_RV, target_R1, {.scale = 0.5, .z = 0.1, .left_out = true}, true);
  device_norm(queue, x, norm, statistics);
  device_norm_gradient(queue, x, norm, statistics, x, x);
  device_dropout_mask(queue, RandomKey{1}, torch::arange(6, torch::kLong), 64, 0.1);
  EXPECT_EQ(called.number_reads(), 0);
  target_R1.sum().item<std::int64_t>();
  EXPECT_EQ(called.number_reads(), 1) << "what counts them works";
}

}  // namespace
}  // namespace alibi
