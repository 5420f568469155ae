// The list of measured shapes: every kernel that the program chooses by itself gives the
// reference's results on them.
#include "bench/cases.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

namespace alibi {
namespace {

// Shapes that a kernel must get right beside the sizes of tests/model: measured ones, of few
// tokens, and other widths and groups.
std::vector<AttentionCase> attention_cases(torch::ScalarType type) {
  std::vector<AttentionCase> cases = measured_cases({.type = type}, {1, 64, 100, 256, 1024}, 1024);
  for (const std::int64_t width : {8, 40, 96, 128, 256})
    cases.push_back(
        {.heads = 3, .key_value_heads = 3, .length = 200, .head_width = width, .type = type});
  cases.push_back({.heads = 12, .key_value_heads = 4, .length = 300, .type = type});
  return cases;
}

struct Results {
  torch::Tensor output;
  std::vector<torch::Tensor> gradients;
};

Results run(const AttentionKernel& kernel, const AttentionInputs& inputs, torch::ScalarType type) {
  AttentionInputs leaves = inputs;
  for (torch::Tensor* x : {&leaves.q_BHTD, &leaves.k_BGSD, &leaves.v_BGSD})
    *x = x->detach().to(type).requires_grad_();
  Results results{attention(leaves, kernel, false), {}};
  torch::manual_seed(3);
  const torch::Tensor gradient = torch::randn(results.output.sizes()).to(type);
  results.gradients = torch::autograd::grad(
      {results.output}, {leaves.q_BHTD, leaves.k_BGSD, leaves.v_BGSD}, {gradient});
  return results;
}

// Relative to the exact values, which are of order 1; gradients of a single key are zero.
double difference(const torch::Tensor& found, const torch::Tensor& exact) {
  const double size = 0.1 * std::sqrt(static_cast<double>(exact.numel()));
  return ((found.to(torch::kDouble) - exact).norm() / (exact.norm() + size)).item<double>();
}

TEST(AttentionCasesSlow, AreRightInEveryKernelTheProgramChooses) {
  const AttentionKernel& reference = attention_kernels().back();
  for (const auto type : {torch::kFloat, torch::kBFloat16}) {
    const double allowed = type == torch::kFloat ? 1e-5 : 1e-2;
    for (const AttentionCase& shape : attention_cases(type)) {
      const AttentionInputs inputs = make_attention_inputs(shape, 5);
      const Results exact = run(reference, inputs, torch::kDouble);
      for (const AttentionKernel& kernel : attention_kernels()) {
        if (kernel.library != nullptr || &kernel == &reference ||
            !kernel.supports(describe_problem(inputs), torch::kCPU))
          continue;
        const Results found = run(kernel, inputs, type);
        EXPECT_LT(difference(found.output, exact.output), allowed) << kernel.name << shape.text();
        for (std::size_t i = 0; i < 3; ++i)
          EXPECT_LT(difference(found.gradients[i], exact.gradients[i]), allowed)
              << kernel.name << " " << shape.text() << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace alibi
