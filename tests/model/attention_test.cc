// Every listed kernel against the formula, in every size and setting; no kernel is named here.
#include "model/attention.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "base/strings.h"
#include "device/cuda_kernels.h"
#include "device/cuda_library.h"
#include "model/device_on_host.h"
#include "model/plain_attention.h"
#include "support/error_text.h"

namespace alibi {
namespace {

constexpr std::int64_t kSizes[] = {1, 15, 16, 17, 31, 33, 64, 127, 128, 129};

struct Case {
  std::int64_t sequences = 2, heads = 2, groups = 2, queries = 16, keys = 16, width = 8;
  ScoreBias bias = ScoreBias::kLinear;
  bool learned = true;  // slopes that need a gradient
  bool documents = false;
  bool rising = false;  // the first slope is below 0: far keys gain
  double dropout = 0;
  torch::ScalarType type = torch::kFloat;
  std::string text() const {
    return cat("B ", sequences, " H ", heads, " G ", groups, " T ", queries, " S ", keys, " D ",
               width, " bias ", static_cast<int>(bias), learned ? " learned" : "",
               documents ? " documents" : "", " dropout ", dropout, " ", torch::toString(type));
  }
};

// First visible keys as packed documents have them: never past the query, never falling.
torch::Tensor some_documents(const Case& c) {
  torch::Tensor starts = torch::zeros({c.sequences, c.queries}, torch::kLong);
  auto start = starts.accessor<std::int64_t, 2>();
  for (std::int64_t b = 0; b < c.sequences; ++b) {
    for (std::int64_t i = 0; i < c.queries; ++i) {
      const std::int64_t position = c.keys - c.queries + i;
      start[b][i] = position - position % (7 + 4 * b);
    }
  }
  return starts;
}

torch::Tensor slopes(const Case& c) {
  torch::Tensor slopes_H = torch::pow(0.4, torch::arange(1, c.heads + 1).to(torch::kDouble));
  if (c.rising) slopes_H[0] = -0.05;
  return slopes_H;
}

AttentionInputs make_inputs(const Case& c) {
  torch::manual_seed(c.queries * 1000 + c.keys);
  const auto normal = [&](std::int64_t heads, std::int64_t length) {
    return torch::randn({c.sequences, heads, length, c.width}, torch::kDouble).to(c.type);
  };
  AttentionInputs inputs{normal(c.heads, c.queries), normal(c.groups, c.keys),
                         normal(c.groups, c.keys), ScoreOptions{}};
  ScoreOptions& o = inputs.options;
  o.scale = 1.7 / std::sqrt(static_cast<double>(c.width));
  const auto exact = c.type == torch::kDouble ? torch::kDouble : torch::kFloat;
  if (c.bias == ScoreBias::kLinear) o.slopes_H = slopes(c).to(exact).requires_grad_(c.learned);
  if (c.bias == ScoreBias::kBuckets) {
    o.buckets_NH = torch::randn({8, c.heads}, exact).requires_grad_();
    o.bucket_max_distance = 50;
  }
  if (c.documents) o.document_start_BT = some_documents(c);
  o.dropout = c.dropout;
  o.dropout_key = RandomKey{5}.with("test");
  return inputs;
}

PlainResult run_kernel(const AttentionInputs& given, const AttentionKernel& kernel,
                       const torch::Tensor& gradient, torch::Device device) {
  AttentionInputs inputs = given;
  ScoreOptions& o = inputs.options;
  const auto leaf = [&](const torch::Tensor& x, bool learned) {
    return x.detach().clone().to(device).requires_grad_(learned);
  };
  for (torch::Tensor* x : {&inputs.q_BHTD, &inputs.k_BGSD, &inputs.v_BGSD}) *x = leaf(*x, true);
  for (torch::Tensor* x : {&o.slopes_H, &o.buckets_NH})
    if (x->defined()) *x = leaf(*x, x->requires_grad());
  if (o.document_start_BT.defined()) o.document_start_BT = o.document_start_BT.to(device);
  const torch::Tensor output = attention(inputs, kernel, false);
  output.backward(gradient.to(device));
  const auto grad = [](const torch::Tensor& x) {
    return x.defined() && x.grad().defined() ? x.grad().cpu() : torch::Tensor();
  };
  return {output.detach().cpu(),
          kernel.forward(inputs).lse_BHT.detach().cpu(),
          grad(inputs.q_BHTD),
          grad(inputs.k_BGSD),
          grad(inputs.v_BGSD),
          grad(inputs.options.slopes_H),
          grad(inputs.options.buckets_NH)};
}

double error(const torch::Tensor& found, const torch::Tensor& truth) {
  return (found.to(torch::kDouble) - truth).abs().max().item<double>();
}

// At most `factor` times the textbook's own rounding in this type. Where the textbook is exact by
// luck (one key: softmax is 1), one rounding of the terms that make up the number is the floor.
struct Bound {
  const PlainResult& found;
  const PlainResult& textbook;
  const LoopResult& truth;
  void check(const char* what, torch::Tensor PlainResult::*part, double factor) const {
    ASSERT_EQ((found.*part).defined(), (truth.value.*part).defined()) << what;
    if (!(found.*part).defined()) return;
    ASSERT_EQ((found.*part).scalar_type(), (textbook.*part).scalar_type()) << what;
    double unit = 0x1p-49;
    if (found.output.scalar_type() != torch::kDouble) unit = 0x1p-23;
    if (found.output.scalar_type() == torch::kBFloat16) unit = 0x1p-9;
    // Gradients take their weights from a log-sum rounded to fp32: relative to its size.
    const double logs = unit == 0x1p-23 ? found.lse.abs().max().item<double>() : 0;
    const double floor = unit * std::max(1.0, logs) * (truth.terms.*part).max().item<double>();
    const double mine = error(found.*part, truth.value.*part);
    const double theirs = error(textbook.*part, truth.value.*part);
    EXPECT_LE(mine, factor * theirs + floor) << what << "; the textbook is off by " << theirs;
  }
};

void check(const Case& c, torch::Device device = torch::kCPU) {
  const AttentionInputs inputs = make_inputs(c);
  const torch::Tensor gradient = torch::randn(inputs.q_BHTD.sizes()).to(c.type);
  const LoopResult truth = loop_attention(inputs, gradient);
  const PlainResult textbook = textbook_attention(inputs, gradient);
  for (const AttentionKernel& kernel : tested_kernels(device)) {
    if (!kernel.supports(describe_problem(inputs), device)) continue;
    SCOPED_TRACE(cat("kernel ", kernel.name, ", ", c.text()));
    const PlainResult found = run_kernel(inputs, kernel, gradient, device);
    const Bound bound{found, textbook, truth};
    bound.check("output", &PlainResult::output, 2);
    // Whatever the inputs, row sums are kept in fp32: 1e-5 of a log.
    EXPECT_LT(error(found.lse, truth.value.lse), 1e-5) << "log-sum-exp";
    bound.check("gradient of q", &PlainResult::q, 3);
    bound.check("gradient of k", &PlainResult::k, 3);
    bound.check("gradient of v", &PlainResult::v, 3);
    if (c.learned) bound.check("gradient of slopes", &PlainResult::slopes, 3);
    bound.check("gradient of buckets", &PlainResult::buckets, 3);
  }
}

// All settings at all sizes; head counts, widths and the length of the cache are drawn, so that no
// setting meets the same ones at every size.
void check_all(torch::ScalarType type, torch::Device device = torch::kCPU) {
  const std::int64_t cached[] = {0, 1, 37}, widths[] = {8, 16, 24, 32, 40, 64};
  const RandomKey key = RandomKey{7}.with("cases");
  std::set<std::int64_t> tiled_widths;
  std::uint64_t turn = 0;
  const auto draw = [&](std::size_t choices) {
    return static_cast<std::size_t>(uniform(key, turn++) * static_cast<double>(choices));
  };
  for (const std::int64_t size : kSizes) {
    for (const ScoreBias bias : {ScoreBias::kNone, ScoreBias::kLinear, ScoreBias::kBuckets}) {
      for (const bool documents : {false, true}) {
        for (const double dropout : {0.0, 0.25}) {
          for (const bool learned : {true, false}) {
            if (!learned && bias != ScoreBias::kLinear) continue;
            Case c{.queries = size, .bias = bias, .documents = documents, .dropout = dropout};
            c.learned = learned;
            c.keys = size + cached[draw(3)];
            c.width = widths[draw(6)];
            c.heads = draw(5) == 0 ? 4 : 2;
            c.groups = draw(2) == 0 ? c.heads : c.heads / 2;
            c.type = type;
            if (bias == ScoreBias::kLinear && !learned && dropout == 0)
              tiled_widths.insert(c.width);
            check(c, device);
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_EQ(tiled_widths.size(), std::size(widths)) << "each width meets the tiled kernels";
}

// The widths that models have; one size that is a whole tile and more.
TEST(AttentionKernels, EqualTheFormulaAtEveryWidth) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kBFloat16}) {
    for (const std::int64_t width : {8, 40, 64, 80, 128, 256})
      check({.queries = 129, .keys = 129, .width = width, .learned = false, .type = type});
  }
}

// Training may take a slope below 0: nothing may be skipped for being far.
TEST(AttentionKernels, EqualTheFormulaWithASlopeBelowZero) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kBFloat16})
    check({.queries = 300, .keys = 300, .rising = true, .type = type});
}

class AttentionCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
    ASSERT_NE(cuda_kernels().module, nullptr) << cuda_kernels().reason;
    ASSERT_NE(cudnn_kernels().module, nullptr) << cudnn_kernels().reason;
  }
};

TEST_F(AttentionCuda, KernelsEqualTheFormula) {
  for (const torch::ScalarType type : {torch::kBFloat16, torch::kFloat})
    check_all(type, torch::kCUDA);
}

TEST_F(AttentionCuda, KernelsEqualTheFormulaAtEveryWidthAndFarFromTheirKeys) {
  for (const std::int64_t width : {8, 40, 64, 80, 96, 128, 160, 192, 256}) {
    Case c{.queries = 129, .keys = 129, .width = width};
    c.learned = false;
    c.type = torch::kBFloat16;
    check(c, torch::kCUDA);
    c.queries = 3;
    c.keys = 20'000;
    check(c, torch::kCUDA);
  }
}

TEST(AttentionKernels, EqualTheFormulaInFp32) { check_all(torch::kFloat); }
TEST(AttentionKernels, EqualTheFormulaInBf16) { check_all(torch::kBFloat16); }
TEST(AttentionKernels, EqualTheFormulaInFp64) { check_all(torch::kDouble); }

TEST(AttentionKernels, EqualTheFormulaAtOneThousandAndFarFromTheirKeys) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kBFloat16}) {
    for (const bool learned : {false, true}) {
      check({.sequences = 1, .queries = 1000, .keys = 1000, .learned = learned, .type = type});
      check({.sequences = 1,
             .groups = 1,
             .queries = 3,
             .keys = 20'000,
             .learned = learned,
             .type = type});
    }
  }
}

// Central differences of sum(output * weight) in one argument.
void expect_derivative(const char* what, AttentionInputs inputs, torch::Tensor& argument,
                       const AttentionKernel& kernel) {
  const torch::Tensor weight = torch::randn(inputs.q_BHTD.sizes(), torch::kDouble);
  argument.mutable_grad() = torch::Tensor();
  (attention(inputs, kernel, false) * weight).sum().backward();
  const torch::Tensor found = argument.grad().flatten();
  const torch::NoGradGuard guard;
  constexpr double kStep = 1e-5;  // truncation and rounding both stay near 1e-10
  for (std::int64_t n = 0; n < argument.numel(); ++n) {
    torch::Tensor element = argument.view(-1)[n];
    const auto value_at = [&](double move) {
      element.add_(move);
      const double value = (kernel.forward(inputs).output_BHTD * weight).sum().item<double>();
      element.sub_(move);
      return value;
    };
    const double slope = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
    ASSERT_NEAR(found[n].item<double>(), slope, 1e-6) << what << ", element " << n;
  }
}

TEST(AttentionKernels, GradientsAreFiniteDifferencesInFp64) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    for (const ScoreBias bias : {ScoreBias::kNone, ScoreBias::kLinear, ScoreBias::kBuckets}) {
      for (const bool documents : {false, true}) {
        for (const double dropout : {0.0, 0.3}) {
          const Case c{.groups = 1,
                       .queries = 10,
                       .keys = 13,
                       .width = 3,
                       .bias = bias,
                       .documents = documents,
                       .dropout = dropout,
                       .type = torch::kDouble};
          AttentionInputs inputs = make_inputs(c);
          if (!kernel.supports(describe_problem(inputs), torch::kCPU)) continue;
          SCOPED_TRACE(cat("kernel ", kernel.name, ", ", c.text()));
          for (torch::Tensor* x : {&inputs.q_BHTD, &inputs.k_BGSD, &inputs.v_BGSD})
            x->requires_grad_();
          expect_derivative("q", inputs, inputs.q_BHTD, kernel);
          expect_derivative("k", inputs, inputs.k_BGSD, kernel);
          expect_derivative("v", inputs, inputs.v_BGSD, kernel);
          ScoreOptions& o = inputs.options;
          if (o.slopes_H.defined()) expect_derivative("slopes", inputs, o.slopes_H, kernel);
          if (o.buckets_NH.defined()) expect_derivative("buckets", inputs, o.buckets_NH, kernel);
        }
      }
    }
  }
}

}  // namespace
}  // namespace alibi
